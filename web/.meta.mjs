import { build } from "esbuild";
import { gzipSync } from "node:zlib";
import { readFile } from "node:fs/promises";
const un = {name:"u",setup({onLoad}){onLoad({filter:/\/app\/.*\.js$/},async({path})=>({contents:(await readFile(path,"utf8")).replace(/\n[ \t]+/g,"\n")}))}};
async function go(name, opts){ const r=await build({entryPoints:["app/main.js"],bundle:true,minify:true,format:"esm",target:"es2022",charset:"utf8",write:false,external:["*/qwebchannel.js"],legalComments:"none",plugins:[un],...opts});
console.log(name, gzipSync(r.outputFiles[0].contents,{level:9}).length, r.outputFiles[0].contents.length); return r}
await go("now",{});
await go("mangle",{mangleProps:/^_[a-z]/});
await go("target esnext",{target:"esnext"});
const stub={name:"s",setup(b){b.onLoad({filter:/marked\.esm/},async()=>({contents:"export const Lexer=class{}"}))}};
await go("without marked",{plugins:[un,stub]});
const lex={name:"s",setup(b){b.onLoad({filter:/marked\.esm\.js$/},async({path})=>{const t=await readFile(path,"utf8");
 const m=/var ([\w$]+)=new ([\w$]+);function [\w$]+\([^)]*\)\{return \1\.parse\(/.exec(t); console.log(m&&m[0], m&&t.length-m.index);
 const name=/([\w$]+) as Lexer/.exec(t)[1];
 return {contents:t.slice(0,m.index)+`export{${name} as Lexer}`}})}};
await go("lexer only",{plugins:[un,lex]});
await go("lexer only + mangle",{plugins:[un,lex],mangleProps:/^_[a-z]/});
