// What vendor.js exports, in types.
export { Component, Fragment, h, render, type ComponentChildren, type RefObject, type VNode } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
export { characterEntitiesHtml4 as entities } from "character-entities-html4";
export { Lexer, type Token, type Tokens } from "marked";
import type { VNode } from "preact";
export function html(strings: TemplateStringsArray, ...values: unknown[]): VNode<any>;
