import { KvClient } from './dist/index.js';
import Redis from 'ioredis';
const url='redis://127.0.0.1:7399';
const [,, side, op, C, B, N] = process.argv; const c=+C, b=+B, n=+N;
const KEYS=100000;
const key=i=>'bb:speed:'+String(i%KEYS).padStart(12,'0');
const ALL=Array.from({length:KEYS},(_, i)=>Buffer.from(key(i)).toString('latin1')); const at=i=>ALL[i%KEYS];
const VALUE='0123456789abcdef';
const reqs=[];
let bad=0;
for (let t=0;t<c;t++){
  if (side==='napi'){ const k=await KvClient.connect(url);
    reqs.push(op==='get'?(b===1?async i=>{ if(await k.getText(at(i))!==VALUE) bad++; }:async i=>{const p=k.pipeline(); for(let j=0;j<b;j++)p.get(at(i*b+j)); const r=await p.execute(); for(let j=0;j<b;j++) if(r.text(j)!==VALUE) bad++;}):
     op==='set'?async i=>k.set(at(i),VALUE):
     op==='mget'?async i=>{const ks=new Array(b); for(let j=0;j<b;j++)ks[j]=at(i*b+j); const v=await k.mget(ks); for(let j=0;j<b;j++) if(v.text(j)!==VALUE) bad++;}:
     async i=>{const ks=new Array(b); for(let j=0;j<b;j++)ks[j]=[at(i*b+j),VALUE]; await k.mset(ks);});
  } else { const k=new Redis(url,{enableAutoPipelining:side==='auto'}); await k.ping();
    reqs.push(op==='get'?(b===1?async i=>{ if(await k.get(at(i))!==VALUE) bad++; }:async i=>{const p=k.pipeline(); for(let j=0;j<b;j++)p.get(at(i*b+j)); const r=await p.exec(); for(let j=0;j<b;j++) if(r[j][1]!==VALUE) bad++;}):
     op==='set'?async i=>{await k.set(at(i),VALUE)}:
     op==='mget'?async i=>{const ks=new Array(b); for(let j=0;j<b;j++)ks[j]=at(i*b+j); const v=await k.mget(ks); for(let j=0;j<b;j++) if(v[j]!==VALUE) bad++;}:
     async i=>{const ks=[]; for(let j=0;j<b;j++)ks.push(at(i*b+j),VALUE); await k.mset(ks);});
  }
}
const R=Math.floor(n/b);
const run=async R=>{await Promise.all(reqs.map(async (r,t)=>{for(let i=t;i<R;i+=c) await r(i);}));};
await run(Math.max(200,Math.min(3000,R)));
const s=performance.now(); const u=process.cpuUsage(); await run(R); const d=(performance.now()-s)/1e3; const v=process.cpuUsage(u);
console.log(Math.round(R*b/d)+(bad?` BAD ${bad}`:'')+ (process.env.CPU?` cpu user ${(v.user/R).toFixed(1)} sys ${(v.system/R).toFixed(1)} us/req`:''));
process.exit(0);
