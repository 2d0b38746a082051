// Browsers let a page that was opened as a file load no index, so the search of the site needs a server.
if (location.protocol === "file:") {
  const line = document.createElement("p");
  line.textContent = "The search works over HTTP alone: scripts/docs --serve";
  document.querySelector("article").prepend(line);
}
