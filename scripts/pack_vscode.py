"""Packs the VS Code extension: `scripts/pack-vscode [FILE]`. The same files make the same bytes.

A `.vsix` is a zip archive with a manifest of its own, which is made from `package.json`.
"""

import io
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

sys.path.insert(0, str(Path(__file__).parent))

import build_web

ROOT = Path(__file__).resolve().parents[1]
EXTENSION = ROOT / "editors" / "vscode"
BUILT_AS = ("extension.cjs", "page")
# The oldest time that a zip archive can name.
_TIME = (1980, 1, 1, 0, 0, 0)
_TYPES = {
    "cjs": "application/javascript",
    "css": "text/css",
    "js": "application/javascript",
    "json": "application/json",
    "md": "text/markdown",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain",
    "vsixmanifest": "text/xml",
}
_LINK_OUTSIDE = re.compile(r"\((?:\.\./)+docs/img/([\w-]+\.png)\)")
_IMAGES = ROOT / "docs" / "img"


def build() -> None:
    """Builds the page, and the extension with it.

    :raises build_web.NotBuilt: when there is no Node.js, or a step failed.
    """
    build_web.build()
    node = build_web.node_folder()
    build_web.install_packages(EXTENSION, node)
    build_web.run(EXTENSION, node, "node", "build.mjs")


def packed() -> bytes:
    """Returns the archive: no times, owners or modes of this machine in it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in members():
            member = zipfile.ZipInfo(name, _TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = 0o100644 << 16
            archive.writestr(member, data, compresslevel=9)
    return content.getvalue()


def members() -> Iterator[tuple[str, bytes]]:
    """Yields what the archive holds, by name."""
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    for unused in ("devDependencies", "scripts", "private", "type"):
        manifest.pop(unused, None)
    readme = (EXTENSION / "README.md").read_text(encoding="utf-8")
    images = sorted(set(_LINK_OUTSIDE.findall(readme)))
    yield "extension.vsixmanifest", _vsix_manifest(manifest).encode()
    yield "[Content_Types].xml", _content_types().encode()
    yield "extension/package.json", (json.dumps(manifest, ensure_ascii=False) + "\n").encode()
    yield "extension/README.md", _LINK_OUTSIDE.sub(r"(media/\1)", readme).encode()
    yield "extension/LICENSE.txt", (ROOT / "LICENSE").read_bytes()
    for name in images:
        yield f"extension/media/{name}", (_IMAGES / name).read_bytes()
    for path in _files():
        yield f"extension/{path.relative_to(EXTENSION).as_posix()}", path.read_bytes()


def _files() -> list[Path]:
    built = EXTENSION / "built"
    places = [EXTENSION / "media", *(built / name for name in BUILT_AS)]
    found = [path for place in places for path in (place, *place.rglob("*"))]
    return sorted(path for path in found if path.is_file() and path.suffix[1:] in _TYPES)


def _vsix_manifest(manifest: dict[str, Any]) -> str:
    properties = {
        "Microsoft.VisualStudio.Code.Engine": manifest["engines"]["vscode"],
        "Microsoft.VisualStudio.Code.ExtensionDependencies": "",
        "Microsoft.VisualStudio.Code.ExtensionPack": "",
        "Microsoft.VisualStudio.Code.ExtensionKind": ",".join(manifest["extensionKind"]),
    }
    assets = {
        "Microsoft.VisualStudio.Code.Manifest": "package.json",
        "Microsoft.VisualStudio.Services.Content.Details": "README.md",
        "Microsoft.VisualStudio.Services.Content.License": "LICENSE.txt",
        "Microsoft.VisualStudio.Services.Icons.Default": manifest["icon"],
    }
    identity = " ".join(
        f"{name}={quoteattr(manifest[key])}"
        for name, key in (("Id", "name"), ("Version", "version"), ("Publisher", "publisher"))
    )
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<PackageManifest Version="2.0.0" '
            'xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">',
            f'<Metadata><Identity Language="en-US" {identity}/>',
            f"<DisplayName>{escape(manifest['displayName'])}</DisplayName>",
            f'<Description xml:space="preserve">{escape(manifest["description"])}</Description>',
            f"<Tags>{escape(','.join(manifest['keywords']))}</Tags>",
            f"<Categories>{escape(','.join(manifest['categories']))}</Categories>",
            "<GalleryFlags>Public</GalleryFlags><Properties>",
            *(
                f"<Property Id={quoteattr(name)} Value={quoteattr(value)}/>"
                for name, value in properties.items()
            ),
            "</Properties><License>extension/LICENSE.txt</License>",
            f"<Icon>extension/{manifest['icon']}</Icon></Metadata>",
            '<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>',
            "<Dependencies/><Assets>",
            *(
                f"<Asset Type={quoteattr(kind)} Path={quoteattr('extension/' + path)} "
                'Addressable="true"/>'
                for kind, path in assets.items()
            ),
            "</Assets></PackageManifest>\n",
        ]
    )


def _content_types() -> str:
    rows = (
        f'<Default Extension=".{suffix}" ContentType="{kind}"/>' for suffix, kind in _TYPES.items()
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns='
        '"http://schemas.openxmlformats.org/package/2006/content-types">' + "".join(rows)
    ) + "</Types>\n"


def main() -> int:
    """Writes it to the file that is named, else to `trimpoint.vsix` in this folder."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "trimpoint.vsix")
    try:
        build()
    except build_web.NotBuilt as error:
        print(error, file=sys.stderr)
        return 1
    target.write_bytes(packed())
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
