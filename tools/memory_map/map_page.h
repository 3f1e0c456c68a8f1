/* SPDX-License-Identifier: Apache-2.0 */
/* Style and script of the page that map_html.c writes. Everything is inline: the page needs nothing else and asks nobody for anything. */
#ifndef TOOLS_MEMORY_MAP_MAP_PAGE_H
#define TOOLS_MEMORY_MAP_MAP_PAGE_H

static const char map_style[] =
    ":root{--bg:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#5b6675;--line:#dfe3e9;--grid:#eceff3;--accent:#d9480f;--ok:#2b8a3e;--shade:#00000014;"
    "--c0:#4c78c8;--c1:#4fa3a5;--c2:#7a9e4e;--c3:#b58a3c;--c4:#a86a9d;--c5:#6f7bb5;--c6:#5f93b8;--c7:#8b8f99;"
    "--input:#2f9e6e;--output:#d08a1d;--work:#9aa3af;--label:#fff}\n"
    "@media(prefers-color-scheme:dark){:root:not([data-theme=light]){--bg:#12161c;--card:#1a2028;--ink:#e6eaf0;--soft:#98a4b3;--line:#2b333e;--grid:#232a34;"
    "--accent:#ff8a4c;--ok:#69db7c;--shade:#ffffff1c;--c0:#6d96e0;--c1:#5fbcbd;--c2:#93ba62;--c3:#cfa552;--c4:#c588ba;--c5:#8f9ad6;--c6:#7db1d6;--c7:#a3a9b5;"
    "--input:#46bf8b;--output:#e6a640;--work:#6b7683;--label:#10151c}}\n"
    ":root[data-theme=dark]{--bg:#12161c;--card:#1a2028;--ink:#e6eaf0;--soft:#98a4b3;--line:#2b333e;--grid:#232a34;"
    "--accent:#ff8a4c;--ok:#69db7c;--shade:#ffffff1c;--c0:#6d96e0;--c1:#5fbcbd;--c2:#93ba62;--c3:#cfa552;--c4:#c588ba;--c5:#8f9ad6;--c6:#7db1d6;--c7:#a3a9b5;"
    "--input:#46bf8b;--output:#e6a640;--work:#6b7683;--label:#10151c}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:14px/1.45 system-ui,'DejaVu Sans',sans-serif}\n"
    "header{display:flex;align-items:baseline;gap:16px;padding:20px 28px 4px}h1{font-size:19px;margin:0;font-weight:650}header span{color:var(--soft)}\n"
    "header button{margin-left:auto}button,input{font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--line);border-radius:8px;padding:4px 12px}\n"
    "button{cursor:pointer}section{margin:16px 28px 36px}h2{font-size:16px;margin:0 0 10px;font-weight:600;overflow-wrap:anywhere}\n"
    ".cards{display:flex;flex-wrap:wrap;gap:10px;margin-bottom:12px}.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:10px 16px;min-width:128px}\n"
    ".card b{display:block;font-size:19px;font-weight:650;font-variant-numeric:tabular-nums}.card small{color:var(--soft)}.card i{font-style:normal;color:var(--ok);font-size:12px;display:block}\n"
    ".panel{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:12px 14px;margin-bottom:12px}\n"
    ".bar{display:flex;height:22px;border-radius:6px;overflow:hidden;background:var(--grid)}.bar div{min-width:2px}\n"
    ".legend{display:flex;flex-wrap:wrap;gap:6px 18px;color:var(--soft);font-size:12.5px;margin-top:8px;align-items:center}.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;vertical-align:-1px}\n"
    ".legend input{margin-left:auto;width:190px;padding:2px 10px}.plot{overflow-x:auto}.read{height:22px;color:var(--soft);font-size:13px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}.read b{color:var(--ink)}\n"
    "svg{display:block;width:100%;height:auto}svg text{font:11px system-ui,'DejaVu Sans',sans-serif;fill:var(--soft)}svg .name{fill:var(--label);font-size:10.5px;pointer-events:none}\n"
    ".grid{stroke:var(--grid)}.axis{stroke:var(--line)}.total{stroke:var(--accent);stroke-dasharray:6 4;stroke-width:1.5}.bound{stroke:var(--ok);stroke-dasharray:2 4;stroke-width:1.5}\n"
    "svg text.mark{fill:var(--accent);font-weight:600}svg text.markb{fill:var(--ok);font-weight:600}.peakband{fill:var(--accent);opacity:.16}.s{fill:var(--c0);opacity:.55}.s.peak{fill:var(--accent);opacity:.9}.s.at{opacity:1}\n"
    ".t{stroke:var(--card);stroke-width:1;cursor:pointer;transition:opacity .12s}.dim .t:not(.on){opacity:.22}.t.hit{stroke:var(--ink);stroke-width:1.6}\n"
    ".c0{fill:var(--c0)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}.c5{fill:var(--c5)}.c6{fill:var(--c6)}.c7{fill:var(--c7)}"
    ".input{fill:var(--input)}.output{fill:var(--output)}.workspace,.tile{fill:var(--work)}\n"
    "i.c0,div.c0{background:var(--c0)}i.c1{background:var(--c1)}i.c2{background:var(--c2)}i.c3{background:var(--c3)}i.c4,div.c4{background:var(--c4)}i.c5{background:var(--c5)}i.c6{background:var(--c6)}i.c7,div.c7{background:var(--c7)}"
    "i.input{background:var(--input)}i.output,div.output{background:var(--output)}i.workspace,i.tile{background:var(--work)}\n"
    ".cursor{stroke:var(--ink);opacity:.45;pointer-events:none;visibility:hidden}table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}\n"
    "th{font-weight:500;color:var(--soft);text-align:left}td,th{padding:4px 10px 4px 0;border-bottom:1px solid var(--grid)}td.n,th.n{text-align:right}td:last-child{word-break:break-all}\n"
    "#tip{position:fixed;z-index:9;pointer-events:none;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:8px 12px;box-shadow:0 6px 24px var(--shade);font-size:12.5px;max-width:460px;display:none}"
    "#tip b{word-break:break-all}#tip div{color:var(--soft)}@media print{button,.legend input,.read{display:none}.panel,.card{break-inside:avoid}}\n";

/* Rectangles and steps carry what they are as data-* attributes; names go into the page as text only. */
static const char map_script[] =
    "'use strict';\n"
    "const tip=document.getElementById('tip'),el=(t,s)=>{const e=document.createElement(t);if(s!==undefined)e.textContent=s;return e};\n"
    "const human=b=>{const u=b<1048576?1024:1048576;return b<1024?b+' B':(b/u).toFixed(b%u?2:0)+(u==1024?' KiB':' MiB')};\n"
    "document.getElementById('theme').onclick=()=>{const r=document.documentElement,d=r.dataset.theme||(matchMedia('(prefers-color-scheme:dark)').matches?'dark':'light');r.dataset.theme=d=='dark'?'light':'dark'};\n"
    "for(const sec of document.querySelectorAll('section')){\n"
    " const svg=sec.querySelector('svg');if(!svg)continue;\n"
    " const ts=[...svg.querySelectorAll('.t')],ss=[...svg.querySelectorAll('.s')],cur=svg.querySelector('.cursor'),read=sec.querySelector('.read'),body=sec.querySelector('tbody'),head=sec.querySelector('.at'),find=sec.querySelector('input');\n"
    " const x0=+svg.dataset.x,w=+svg.dataset.w,n=ss.length;let pinned=+svg.dataset.peak;\n"
    " const alive=(t,s)=>+t.dataset.f<=s&&s<=+t.dataset.l;\n"
    " const table=s=>{head.textContent='Step '+s+': '+ss[s].dataset.o+' \"'+ss[s].dataset.n+'\"'+(s==+svg.dataset.peak?' (the peak)':'')+', '+human(+ss[s].dataset.b)+' in use';body.replaceChildren(...ts.filter(t=>alive(t,s)).sort((a,b)=>b.dataset.b-a.dataset.b).map(t=>{const r=el('tr'),d=t.dataset;"
    "for(const[v,c]of[[(+d.b).toLocaleString('en'),'n'],[(+d.a).toLocaleString('en'),'n'],[d.f==d.l?d.f:d.f+'\\u2013'+d.l,'n'],[d.k,''],[d.o,''],[d.n+(d.p?'  (over '+d.p+')':''),'']]){const c2=el('td',v);c2.className=c;r.append(c2)}return r}))};\n"
    " const show=s=>{for(const t of ts)t.classList.toggle('on',alive(t,s));svg.classList.add('dim');for(const b of ss)b.classList.toggle('at',+b.dataset.s==s);const x=x0+w*(s+.5)/n;cur.setAttribute('x1',x);cur.setAttribute('x2',x);cur.style.visibility='visible';"
    "read.replaceChildren(el('b','step '+s),' \\u00b7 '+human(+ss[s].dataset.b)+' in use \\u00b7 '+ss[s].dataset.o+' \"'+ss[s].dataset.n+'\"'+(+ss[s].dataset.c?' \\u00b7 '+(+ss[s].dataset.c).toLocaleString('en')+' cycles (estimated)':''))};\n"
    " const step=e=>{const r=svg.getBoundingClientRect(),s=Math.floor(((e.clientX-r.left)*svg.viewBox.baseVal.width/r.width-x0)/w*n);return s<0||s>=n?-1:s};\n"
    " svg.onmousemove=e=>{const s=step(e);if(s>=0)show(s);const t=e.target.closest('.t');for(const o of ts)o.classList.toggle('hit',o===t);if(!t){tip.style.display='none';return}const d=t.dataset;"
    "tip.replaceChildren(el('b',d.n),el('div',d.k+(d.o?' \\u00b7 '+d.o:'')),el('div',human(+d.b)+' ('+(+d.b).toLocaleString('en')+' bytes)'),el('div','address '+(+d.a).toLocaleString('en')+' \\u2013 '+(+d.a+ +d.b).toLocaleString('en')),el('div','steps '+d.f+' \\u2013 '+d.l));"
    "if(d.p)tip.append(el('div','written over '+d.p));if(d.v)tip.append(el('div','views: '+d.v));tip.style.display='block';const m=tip.getBoundingClientRect();tip.style.left=Math.min(e.clientX+16,innerWidth-m.width-8)+'px';tip.style.top=Math.min(e.clientY+16,innerHeight-m.height-8)+'px'};\n"
    " svg.onmouseleave=()=>{tip.style.display='none';svg.classList.remove('dim');cur.style.visibility='hidden';read.textContent=read.dataset.idle;for(const b of ss)b.classList.remove('at');for(const o of ts)o.classList.remove('hit')};\n"
    " svg.onclick=e=>{const s=step(e);if(s>=0){pinned=s;table(s)}};\n"
    " table(pinned);\n"
    " find.oninput=()=>{const v=find.value.toLowerCase();svg.classList.toggle('dim',!!v);for(const t of ts)t.classList.toggle('on',!!v&&(t.dataset.n+' '+t.dataset.v+' '+t.dataset.o).toLowerCase().includes(v))};\n"
    "}\n";

#endif
