// What the page takes of Prism, in types.
declare module "prismjs/components/prism-core.js" {
    const Prism: { languages: Record<string, unknown>; tokenize(text: string, grammar: object): any[] };
    export default Prism;
}
declare module "prismjs/components/*";
