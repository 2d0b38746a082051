// What colours.js exports, in types.
export interface Colours {
    highlight(language: string, text: string): any;
    registered(language: string): boolean;
}
export const lowlight: Colours;
