// Everything of others that the page uses, and nothing else.
import { h } from "preact";
import htm from "htm";

export { Component, Fragment, h, render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal } from "@preact/signals";
export { characterEntitiesHtml4 as entities } from "character-entities-html4";
export { Lexer } from "marked";

export const html = htm.bind(h);
