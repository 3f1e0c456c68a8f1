// SPDX-License-Identifier: Apache-2.0
// Tables that are sorted, filtered and plotted, and a timeline, from the JSON in the element "data" (page.h says what
// is in it). Names get into the page as text only.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const tip = document.getElementById('tip');
const ROW = 26, AROUND = 12, FEW = 6, SLICES = 12, SVG = 'http://www.w3.org/2000/svg';

function make(tag, name, ...inside) {
  const e = document.createElement(tag);
  if (name) e.className = name;
  e.append(...inside);
  return e;
}

function draw(tag, attributes) {
  const e = document.createElementNS(SVG, tag);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  return e;
}

function button(text, name, title, act) {
  const b = make('button', name, text);
  b.type = 'button';
  b.title = title;
  b.onclick = act;
  return b;
}

const paint = i => getComputedStyle(document.documentElement).getPropertyValue('--c' + i).trim();
const color = i => 'var(--c' + i + ')';
const units = { HMX: 0, HVX: 1, 'DMA read': 2, 'DMA write': 3, DMA: 2, launch: 4, SyncOp: 4, hidden: 12 };

// ---- values ------------------------------------------------------------------------------------------------------------

const whole = v => v.toLocaleString('en-US');
const bytes = v => {
  if (Math.abs(v) < 1024) return v + ' B';
  if (Math.abs(v) < 1048576) return (v / 1024).toFixed(1) + ' KiB';
  return (v / 1048576).toFixed(2) + ' MiB';
};
const signed = f => v => (v > 0 ? '+' : '') + f(v);
const us = v => v.toFixed(Math.abs(v) < 100 ? 2 : 1);
// sum: what is below the column; size: a bar behind the number; signed: a change, which is coloured.
const kinds = {
  name: { text: true }, op: { text: true }, text: { text: true }, wrap: { text: true }, unit: { text: true },
  count: { show: whole, sum: true, size: true }, saving: { show: whole, size: true }, cycles: { show: whole, sum: true, size: true }, id: { show: whole },
  bytes: { show: bytes, sum: true, size: true }, percent: { show: v => v.toFixed(2) + ' %', sum: true, size: true },
  share: { show: v => v.toFixed(1) + ' %', size: true },
  number: { show: v => (+v.toFixed(2)).toLocaleString('en-US'), size: true },
  us: { show: us, sum: true, size: true }, start: { show: us },
  change: { show: signed(whole), sum: true, signed: true, size: true },
  changeus: { show: signed(us), sum: true, signed: true, size: true },
  ratio: { show: signed(v => v.toFixed(1) + ' %'), signed: true },
};
const nothing = v => v === null || v === undefined;

// What a cell says: the text, and all of it where the text is short for something.
function say(graph, column, v) {
  if (nothing(v)) return ['', ''];
  if (column.kind === 'op') return v < 0 ? ['–', ''] : graph.ops[v];
  if (kinds[column.kind].text) return [String(v), String(v)];
  return [kinds[column.kind].show(v), whole(v)];
}

// ">1000", "<=5", "=3", "10..20", with k and M; otherwise a part of what the cell says.
function numberTest(text) {
  const scale = { k: 1e3, m: 1e6, g: 1e9 }, num = '(-?[\\d.,]+)\\s*([kmg]?)';
  const value = (digits, unit) => parseFloat(digits.replace(/,/g, '')) * (scale[unit.toLowerCase()] || 1);
  let m = text.match(new RegExp('^(>=|<=|>|<|=)\\s*' + num + '$', 'i'));
  if (m) {
    const limit = value(m[2], m[3]);
    const tests = {
      '>': v => v > limit, '<': v => v < limit, '>=': v => v >= limit, '<=': v => v <= limit, '=': v => v === limit,
    };
    return tests[m[1]];
  }
  m = text.match(new RegExp('^' + num + '\\.\\.' + num + '$', 'i')) || text.match(/^(-?\d+)()\.\.(-?\d+)()$/);
  if (m) return v => v >= value(m[1], m[2]) && v <= value(m[3], m[4]);
  return null;
}

// ---- the tip -----------------------------------------------------------------------------------------------------------

function showTip(event, title, lines) {
  tip.replaceChildren(make('b', '', title), ...lines.filter(Boolean).map(l => make('div', '', l)));
  tip.style.display = 'block';
  const r = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - r.width - 8)) + 'px';
  tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - r.height - 8)) + 'px';
}
const hideTip = () => { tip.style.display = 'none'; };

// ---- tables ------------------------------------------------------------------------------------------------------------

class Table {
  constructor(graph, spec) {
    this.graph = graph;
    this.spec = spec;
    const column = (c, at) => ({ ...c, at, numeric: !kinds[c.kind].text, filter: '', shown: !c.hidden });
    const most = c => spec.rows.reduce((m, r) => Math.max(m, Math.abs(r[c.at] || 0)), 0);
    this.columns = spec.columns.map(column);
    this.most = this.columns.map(c => c.numeric ? most(c) : 0);
    this.order = spec.sort ? { at: this.columns.findIndex(c => c.key === spec.sort), way: -1 } : null;
    this.chosen = new Set();
    this.last = -1;
    this.chart = null;
    this.found = [];
    this.root = make('div', 'table');
    this.root.dataset.table = spec.id;
    this.build();
  }

  label(row) {
    const named = this.columns.find(x => x.kind === 'op' || x.kind === 'name');
    const c = named || this.columns.find(x => !x.numeric) || this.columns[0];
    return say(this.graph, c, this.spec.rows[row][c.at]);
  }

  build() {
    this.count = make('span', 'found');
    const menu = make('details', 'columns', make('summary', '', 'Columns'));
    menu.append(make('div', '', ...this.columns.map(c => {
      const box = make('input');
      box.type = 'checkbox';
      box.checked = c.shown;
      box.onchange = () => { c.shown = box.checked; this.head(); this.update(); };
      return make('label', '', box, ' ' + c.title);
    })));
    this.clear = button('clear choice', 'clear', 'no row is chosen any more', () => {
      this.chosen.clear();
      this.last = -1;
      this.update();
    });
    this.root.append(make('div', 'tools', this.count, this.clear, make('span', 'grow'),
      button('Copy as CSV', 'copy', 'the rows that are shown, in this order', () => this.copy()), menu));
    this.plot = make('div');
    this.scroll = make('div', 'scroll');
    this.thead = make('thead');
    this.tbody = make('tbody');
    this.tfoot = make('tfoot');
    this.scroll.append(make('table', '', this.thead, this.tbody, this.tfoot));
    this.facts = make('div');
    this.root.append(this.plot, this.scroll, this.facts);
    this.scroll.onscroll = () => this.rows();
    this.head();
    this.update();
  }

  shown() { return this.columns.filter(c => c.shown); }

  head() {
    const names = make('tr'), filters = make('tr', 'filters');
    for (const c of this.shown()) {
      const th = make('th', c.numeric ? 'n' : '');
      const sort = button(c.title, 'sort', (c.hint ? c.hint + '\n' : '') + 'click to sort', () => this.sort(c));
      sort.dataset.key = c.key;
      th.append(sort);
      if (c.numeric && c.kind !== 'id') {
        const b = button('', 'plot', 'pie chart of this column', () => this.show(c));
        const icon = draw('svg', { viewBox: '0 0 14 14' });
        icon.append(draw('path', { d: 'M7 1 a6 6 0 1 0 6 6 h-6 z M9 1 a5 5 0 0 1 4 4 h-4 z' }));
        b.append(icon);
        b.dataset.key = c.key;
        th.append(b);
      }
      names.append(th);
      const input = make('input');
      input.placeholder = c.numeric ? '> 0' : 'filter';
      input.title = c.numeric ? 'filter: >1000, <=5, =3, 10..20, with k or M' : 'filter: a part of the text';
      input.setAttribute('aria-label', 'filter ' + c.title);
      input.value = c.filter;
      input.dataset.key = c.key;
      input.oninput = () => { c.filter = input.value; this.update(); };
      filters.append(make('th', '', input));
    }
    this.thead.replaceChildren(names, ...(this.spec.of || this.spec.rows.length > FEW ? [filters] : []));
  }

  // Largest first, smallest first, as it was; texts begin with A.
  sort(c) {
    const first = c.numeric ? -1 : 1, now = this.order && this.order.at === c.at ? this.order.way : 0;
    if (now === 0) this.order = { at: c.at, way: first };
    else this.order = now === first ? { at: c.at, way: -first } : null;
    this.update();
  }

  filter(key, text) {
    const c = this.columns.find(x => x.key === key);
    c.filter = text;
    c.shown = true;
    this.head();
    this.update();
  }

  passes(row) {
    return this.columns.every(c => {
      const text = c.filter.trim();
      if (!text) return true;
      const v = this.spec.rows[row][c.at], test = c.numeric && numberTest(text);
      if (test) return !nothing(v) && test(v);
      return say(this.graph, c, v).some(s => s.toLowerCase().includes(text.toLowerCase()));
    });
  }

  update() {
    this.found = this.spec.rows.map((_, i) => i).filter(i => this.passes(i));
    if (this.order) {
      const c = this.columns[this.order.at], way = this.order.way;
      const key = new Map(this.found.map(i => {
        const v = this.spec.rows[i][c.at];
        return [i, c.numeric ? (nothing(v) ? -Infinity : v) : say(this.graph, c, v)[0].toLowerCase()];
      }));
      this.found.sort((a, b) => key.get(a) < key.get(b) ? -way : key.get(a) > key.get(b) ? way : a - b);
    }
    for (const b of this.thead.querySelectorAll('.sort')) {
      if (this.order && b.dataset.key === this.columns[this.order.at].key) b.dataset.way = this.order.way;
      else delete b.dataset.way;
    }
    const all = this.spec.rows.length, n = this.found.length;
    this.count.textContent = (n === all ? whole(all) + ' rows' : whole(n) + ' of ' + whole(all) + ' rows') +
      (this.chosen.size ? ', ' + this.chosen.size + ' chosen' : '');
    this.clear.style.display = this.chosen.size ? '' : 'none';
    this.sums();
    this.rows();
    this.pie();
    this.tell();
  }

  sums() {
    const rows = this.chosen.size ? [...this.chosen] : this.found;
    let first = true;
    this.tfoot.replaceChildren(make('tr', '', ...this.shown().map(c => {
      const td = make('td', c.numeric ? 'n' : '');
      if (kinds[c.kind].sum) {
        const sum = rows.reduce((s, i) => s + (this.spec.rows[i][c.at] || 0), 0);
        td.textContent = say(this.graph, c, sum)[0];
        td.dataset.sum = c.key;
        td.dataset.v = sum;
      } else if (first && !c.numeric) {
        const shown = this.found.length < this.spec.rows.length ? 'shown rows' : 'all rows';
        td.textContent = this.chosen.size ? 'chosen rows' : shown;
      }
      first = first && c.numeric;
      return td;
    })));
  }

  // Only rows that can be seen are in the page; what is above and below is one empty row each.
  rows() {
    const tall = this.columns.some(c => c.kind === 'wrap'), n = this.found.length;
    const from = tall ? 0 : Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - AROUND);
    const to = tall ? n : Math.min(n, from + Math.ceil((this.scroll.clientHeight || 600) / ROW) + 2 * AROUND);
    const list = [];
    const space = rows => {
      const tr = make('tr', 'space', make('td'));
      tr.style.height = rows * ROW + 'px';
      return tr;
    };
    if (from) list.push(space(from));
    for (let i = from; i < to; i++) list.push(this.row(this.found[i]));
    if (to < n) list.push(space(n - to));
    this.tbody.replaceChildren(...list);
  }

  row(i) {
    const tr = make('tr', this.chosen.has(i) ? 'on' : '');
    tr.dataset.row = i;
    for (const c of this.shown()) {
      const v = this.spec.rows[i][c.at], [text, full] = say(this.graph, c, v);
      const td = make('td', c.kind === 'wrap' ? 'wrap' : c.numeric ? 'n' : '');
      if (c.kind === 'unit' && text) {
        const tag = make('span', 'tag', text);
        tag.style.background = color(text in units ? units[text] : 4);
        td.append(tag);
      } else td.textContent = text;
      if (kinds[c.kind].signed && v) td.classList.add(v > 0 ? 'up' : 'down');
      if (full !== text) td.title = full;
      td.dataset.key = c.key;
      td.dataset.v = nothing(v) ? '' : v;
      if (c.numeric && v === 0) td.classList.add('zero');
      if (kinds[c.kind].size && this.most[c.at] && v) td.style.setProperty('--share', Math.abs(v) / this.most[c.at] * 100);
      tr.append(td);
    }
    tr.onclick = () => this.choose(i);
    return tr;
  }

  choose(i) {
    if (this.chosen.has(i)) this.chosen.delete(i);
    else this.chosen.add(i);
    this.last = this.chosen.has(i) ? i : -1;
    this.update();
  }

  // From elsewhere: the row alone is chosen, and seen.
  go(i) {
    const part = this.root.closest('details.part');
    if (part) part.open = true;
    if (!this.found.includes(i)) for (const c of this.columns) c.filter = '';
    this.chosen = new Set([i]);
    this.last = i;
    this.head();
    this.update();
    this.scroll.scrollTop = Math.max(0, this.found.indexOf(i) * ROW - 100);
    this.root.scrollIntoView({ block: 'nearest' });
    this.rows();
  }

  // All of one row, with full names.
  tell() {
    if (this.last < 0) { this.facts.replaceChildren(); return; }
    const row = this.spec.rows[this.last], list = make('dl');
    for (const c of this.columns) {
      const [text, full] = say(this.graph, c, row[c.at]);
      if (text === '' || c.kind === 'op' || c.kind === 'name') continue;
      const raw = kinds[c.kind].text ? text : text + (c.kind === 'bytes' ? ' (' + full + ')' : '');
      list.append(make('div', raw.length > 60 ? 'long' : '', make('dt', '', c.title), make('dd', '', raw)));
    }
    const links = make('div', 'tools');
    for (const link of this.graph.linksOf(this, row)) links.append(link);
    const [short, full] = this.label(this.last);
    this.facts.replaceChildren(make('div', 'facts', make('b', '', full || short), list, links));
  }

  copy() {
    const quote = s => /[",\n]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s;
    const cells = i => this.columns.map(c => {
      const v = this.spec.rows[i][c.at];
      return quote(nothing(v) ? '' : c.kind === 'op' ? say(this.graph, c, v)[1] : String(v));
    });
    const lines = [this.columns.map(c => quote(c.title)), ...this.found.map(cells)].map(l => l.join(','));
    this.csv = lines.join('\n') + '\n';
    if (navigator.clipboard) navigator.clipboard.writeText(this.csv).catch(() => {});
  }

  // ---- plots: a pie or bars of one column, of the chosen rows, otherwise of those that are shown

  show(c) {
    this.chart = this.chart && this.chart.c === c ? null : { c, bars: this.chart ? this.chart.bars : false };
    this.update();
  }

  parts() {
    const c = this.chart.c, rows = this.chosen.size ? [...this.chosen] : this.found;
    const part = i => ({ i, v: Math.abs(this.spec.rows[i][c.at] || 0), label: this.label(i) });
    const list = this.joined(rows.map(part)).filter(p => p.v > 0);
    list.sort((a, b) => b.v - a.v || a.i - b.i);
    const rest = list.slice(SLICES), all = list.reduce((s, p) => s + p.v, 0);
    const parts = list.slice(0, SLICES);
    const left = rest.reduce((s, p) => s + p.v, 0);
    if (rest.length) parts.push({ i: -1, v: left, label: ['other (' + rest.length + ')', ''] });
    return { parts, all };
  }

  // Pieces of one operator are one part.
  joined(list) {
    if (this.spec.of !== 'pieces') return list;
    const sums = new Map();
    for (const p of list) {
      const sum = sums.get(p.label[1]);
      if (sum) sum.v += p.v;
      else sums.set(p.label[1], p);
    }
    return [...sums.values()];
  }

  pie() {
    const plotted = this.chart ? this.chart.c.key : null;
    for (const b of this.thead.querySelectorAll('.plot')) b.classList.toggle('on', b.dataset.key === plotted);
    if (!this.chart) { this.plot.replaceChildren(); return; }
    const { c, bars } = this.chart, { parts, all } = this.parts(), right = make('div', 'right');
    const which = this.chosen.size ? ' of the chosen rows: ' : ' of the rows shown: ';
    const title = make('h3', '', make('span', '', c.title + which + say(this.graph, c, all)[0]));
    const other = () => { this.chart.bars = !bars; this.update(); };
    title.append(button(bars ? 'pie' : 'bars', 'as', 'the other kind of plot', other),
      button('\u00d7', 'close', 'close the plot', () => this.show(c)));
    right.append(title);
    const most = parts.reduce((m, p) => Math.max(m, p.v), 0);
    parts.forEach((p, k) => {
      const dot = make('span', 'dot'), share = (100 * p.v / all).toFixed(1) + ' %';
      dot.style.background = color(p.i < 0 ? 12 : k);
      const item = make('div', 'item', dot, make('span', 'label', p.label[0]));
      if (bars) {
        const length = make('div');
        length.style.cssText = 'width:' + 100 * p.v / most + '%;background:' + dot.style.background;
        item.append(make('div', 'track', length));
      }
      item.append(make('span', 'value', say(this.graph, c, p.v)[0]), make('span', 'value part', share));
      item.dataset.v = p.v;
      item.title = p.label[1];
      if (p.i >= 0) item.onclick = () => this.go(p.i);
      right.append(item);
    });
    const chart = make('div', 'chart');
    if (!bars) chart.append(this.slices(parts, all));
    chart.append(right);
    this.plot.replaceChildren(chart);
  }

  slices(parts, all) {
    const R = 104, side = 2 * R + 8;
    const svg = draw('svg', { width: side, height: side, viewBox: [-side / 2, -side / 2, side, side].join(' ') });
    let turn = 0;
    parts.forEach((p, k) => {
      const share = p.v / all, a = 2 * Math.PI * turn, b = 2 * Math.PI * Math.min(turn + share, turn + 0.99999);
      const at = x => (R * Math.sin(x)).toFixed(2) + ' ' + (-R * Math.cos(x)).toFixed(2);
      const arc = ' A' + R + ' ' + R + ' 0 ' + (share > .5 ? 1 : 0) + ' 1 ';
      const path = draw('path', { class: 'slice', d: 'M0 0 L' + at(a) + arc + at(b) + ' z' });
      const value = say(this.graph, this.chart.c, p.v)[0] + ', ' + (100 * share).toFixed(1) + ' %';
      path.style.fill = color(p.i < 0 ? 12 : k);
      path.onmousemove = e => showTip(e, p.label[1] || p.label[0], [value]);
      path.onmouseleave = hideTip;
      if (p.i >= 0) path.onclick = () => { hideTip(); this.go(p.i); };
      svg.append(path);
      turn += share;
    });
    return svg;
  }
}

// ---- the timeline: what the time is spent on, and below it what every unit does ------------------------------------------

class Timeline {
  constructor(graph, spec) {
    this.graph = graph;
    this.spec = spec;
    this.lanes = ['path', ...spec.units.filter(u => u !== 'SyncOp')];
    this.from = 0;
    this.to = spec.total;
    this.op = -1;
    this.read = make('div', 'note', 'Wheel: zoom. Drag: move. Double click: all of it. Click: the operator.');
    this.canvas = make('canvas');
    this.canvas.height = this.height() * devicePixelRatio;
    this.canvas.style.height = this.height() + 'px';
    this.root = make('div', 'time', this.read, this.canvas);
    this.canvas.onwheel = e => { e.preventDefault(); this.zoom(this.at(e), e.deltaY > 0 ? 1.25 : 0.8); };
    this.canvas.onmousedown = e => { this.drag = { x: e.clientX, from: this.from, to: this.to, moved: false }; };
    this.canvas.onmousemove = e => this.move(e);
    this.canvas.onmouseup = e => { if (this.drag && !this.drag.moved) this.click(e); this.drag = null; };
    this.canvas.onmouseleave = () => { this.drag = null; hideTip(); };
    this.canvas.ondblclick = () => { this.from = 0; this.to = spec.total; this.paint(); };
    new ResizeObserver(() => this.paint()).observe(this.root);
  }

  height() { return 20 + this.lanes.length * 26 + 6; }
  left() { return 84; }
  width() { return this.canvas.clientWidth - this.left() - 6; }
  at(e) {
    const x = e.clientX - this.canvas.getBoundingClientRect().left - this.left();
    return this.from + x / this.width() * (this.to - this.from);
  }

  zoom(center, by) {
    const span = Math.min(this.spec.total, Math.max(20, (this.to - this.from) * by));
    const share = (center - this.from) / (this.to - this.from);
    this.from = Math.max(0, Math.min(this.spec.total - span, center - share * span));
    this.to = this.from + span;
    this.paint();
  }

  focus(op) {
    const mine = this.spec.spans.filter(s => s[3] === op);
    this.op = op;
    if (mine.length) {
      const a = mine.reduce((m, s) => Math.min(m, s[0]), Infinity);
      const b = mine.reduce((m, s) => Math.max(m, s[0] + s[1]), 0);
      const more = (b - a) * .4 + 50;
      this.from = Math.max(0, a - more);
      this.to = Math.min(this.spec.total, b + more);
    }
    this.paint();
    this.root.scrollIntoView({ block: 'center' });
  }

  // Of the lane under the mouse, the last span that begins before: [start, cycles, unit, operator].
  find(e) {
    const lane = Math.floor((e.clientY - this.canvas.getBoundingClientRect().top - 20) / 26), t = this.at(e);
    const slack = 2 * (this.to - this.from) / this.width();
    const unit = this.spec.units.indexOf(this.lanes[lane]);
    const list = lane === 0 ? this.spec.path : this.spec.spans.filter(s => s[2] === unit);
    let best = null;
    for (const s of list) if (s[0] - slack <= t && t <= s[0] + s[1] + slack) best = s;
    return best;
  }

  move(e) {
    if (this.drag) {
      const by = (e.clientX - this.drag.x) / this.width() * (this.drag.to - this.drag.from);
      this.drag.moved = this.drag.moved || Math.abs(e.clientX - this.drag.x) > 3;
      const span = this.drag.to - this.drag.from;
      this.from = Math.max(0, Math.min(this.spec.total - span, this.drag.from - by));
      this.to = this.from + span;
      this.paint();
      return;
    }
    const s = this.find(e);
    if (!s) { hideTip(); return; }
    const name = s[3] < 0 ? 'nothing works: a launch' : this.graph.ops[s[3]][1];
    showTip(e, name, [this.spec.units[s[2]], 'cycle ' + whole(s[0]) + ', ' + whole(s[1]) + ' cycles',
      us(s[0] / this.spec.clock) + ' µs, ' + us(s[1] / this.spec.clock) + ' µs long']);
  }

  click(e) {
    const s = this.find(e);
    if (s && s[3] >= 0) this.graph.goOperator(s[3]);
  }

  axis(c, style) {
    const per = this.width() / (this.to - this.from) * this.spec.clock; // pixels of a microsecond
    let step = 1e-3;
    for (const next = [2, 2.5, 2]; step * per < 80; ) { step *= next[0]; next.push(next.shift()); }
    c.fillStyle = style.getPropertyValue('--soft');
    c.strokeStyle = style.getPropertyValue('--grid');
    for (let t = Math.ceil(this.from / this.spec.clock / step) * step; t * this.spec.clock <= this.to; t += step) {
      const x = this.left() + (t * this.spec.clock - this.from) / (this.to - this.from) * this.width();
      c.beginPath();
      c.moveTo(x, 16);
      c.lineTo(x, this.height());
      c.stroke();
      c.textAlign = 'center';
      c.fillText((+t.toFixed(4)) + ' µs', x, 11);
    }
  }

  paint() {
    const w = this.root.clientWidth, c = this.canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
    if (!w) return;
    this.canvas.width = w * devicePixelRatio;
    c.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    c.clearRect(0, 0, w, this.height());
    c.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    this.axis(c, style);
    const colors = this.spec.units.map(u => paint(units[u]));
    const put = (s, lane) => {
      if (s[0] + s[1] < this.from || s[0] > this.to) return;
      const scale = this.width() / (this.to - this.from);
      const a = Math.max(0, (s[0] - this.from) * scale), b = Math.min(this.width(), (s[0] + s[1] - this.from) * scale);
      c.globalAlpha = this.op >= 0 && s[3] !== this.op ? .2 : lane ? .85 : 1;
      c.fillStyle = colors[s[2]];
      c.fillRect(this.left() + a, 20 + lane * 26 + (lane ? 4 : 1), Math.max(.6, b - a), lane ? 17 : 23);
      if (b - a > 46 && s[3] >= 0) {
        c.fillStyle = style.getPropertyValue('--card');
        c.textAlign = 'left';
        c.save();
        c.beginPath();
        c.rect(this.left() + a, 20 + lane * 26, b - a - 4, 26);
        c.clip();
        c.fillText(this.graph.ops[s[3]][0], this.left() + a + 4, 20 + lane * 26 + 16);
        c.restore();
      }
    };
    for (const s of this.spec.path) put(s, 0);
    for (const s of this.spec.spans) put(s, this.lanes.indexOf(this.spec.units[s[2]]));
    c.globalAlpha = 1;
    c.textAlign = 'right';
    c.fillStyle = style.getPropertyValue('--soft');
    this.lanes.forEach((l, i) => c.fillText(l === 'path' ? 'spent on' : l, this.left() - 8, 20 + i * 26 + 16));
  }
}

// ---- the roofline: operators by operations per byte and per cycle, both logarithmic ------------------------------------

class Roofline {
  constructor(graph, spec) {
    const table = graph.spec.parts.find(p => p.table && p.table.of === 'operators').table;
    const at = key => table.columns.findIndex(c => c.key === key);
    const [x, y, bound, cycles, op] = ['macs_per_byte', 'macs_per_cycle', 'bound', 'cycles', 'ref'].map(at);
    const point = r => ({ x: r[x], y: r[y], bound: r[bound], cycles: r[cycles], op: r[op] });
    this.graph = graph;
    this.spec = spec;
    this.points = table.rows.map(point).filter(p => p.x > 0 && p.y > 0);
    this.xs = this.range([...this.points.map(p => p.x), spec.peak / spec.rate], .3);
    this.ys = this.range([...this.points.map(p => p.y), spec.peak], .05);
    this.svg = draw('svg', { viewBox: '0 0 1260 380', class: 'roof' });
    this.axes();
    this.roof();
    for (const p of this.points) this.svg.append(this.dot(p));
    this.root = make('div', '', make('div', 'legend', 'bound by', ...this.legend()), this.svg);
  }

  range(values, more) {
    const low = Math.floor(Math.log10(Math.min(...values)));
    return [low, Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)) + more))];
  }

  left(v) { return 60 + (Math.log10(v) - this.xs[0]) / (this.xs[1] - this.xs[0]) * 1190; }
  top(v) { return 340 - (Math.log10(v) - this.ys[0]) / (this.ys[1] - this.ys[0]) * 330; }

  words(text, x, y, anchor) {
    const t = draw('text', { x, y, 'text-anchor': anchor });
    t.textContent = text;
    this.svg.append(t);
  }

  axes() {
    const power = e => (10 ** e).toLocaleString('en-US', { maximumSignificantDigits: 1 });
    for (let e = this.xs[0]; e <= this.xs[1]; e++) {
      const x = this.left(10 ** e);
      this.svg.append(draw('line', { class: 'grid', x1: x, x2: x, y1: 10, y2: 340 }));
      this.words(power(e), x, 356, e === this.xs[1] ? 'end' : 'middle');
    }
    for (let e = this.ys[0]; e <= this.ys[1]; e++) {
      const y = this.top(10 ** e);
      this.svg.append(draw('line', { class: 'grid', x1: 60, x2: 1250, y1: y, y2: y }));
      this.words(power(e), 52, y + 4, 'end');
    }
    this.words('operations per byte of DRAM', 655, 374, 'middle');
    this.words('operations per cycle', 66, 22, 'start');
  }

  roof() {
    const { peak, rate } = this.spec, first = Math.max(10 ** this.xs[0], 10 ** this.ys[0] / rate);
    const corners = [[first, first * rate], [peak / rate, peak], [10 ** this.xs[1], peak]];
    const points = corners.map(c => this.left(c[0]) + ',' + this.top(c[1])).join(' ');
    this.svg.append(draw('polyline', { class: 'roofline', points }));
  }

  dot(p) {
    const most = this.points.reduce((m, q) => Math.max(m, q.cycles), 1);
    const dot = draw('circle', { class: 'op', cx: this.left(p.x), cy: this.top(p.y), r: 3 + 9 * Math.sqrt(p.cycles / most) });
    const part = 100 * p.y / Math.min(this.spec.peak, p.x * this.spec.rate);
    dot.style.fill = color(units[p.bound] ?? 4);
    dot.onmousemove = e => showTip(e, this.graph.ops[p.op][1], ['bound by ' + p.bound, whole(p.cycles) + ' cycles',
      p.y.toFixed(1) + ' operations per cycle, ' + p.x.toFixed(1) + ' per byte', part.toFixed(1) + ' % of the roof']);
    dot.onmouseleave = hideTip;
    dot.onclick = () => { hideTip(); this.graph.goOperator(p.op); };
    return dot;
  }

  legend() {
    return [...new Set(this.points.map(p => p.bound))].map(b => {
      const dot = make('span', 'dot');
      dot.style.background = color(units[b] ?? 4);
      return make('span', '', dot, b);
    });
  }
}

// ---- a graph -----------------------------------------------------------------------------------------------------------

class Graph {
  constructor(spec) {
    this.spec = spec;
    this.ops = spec.ops || [];
    this.tables = {};
    this.root = make('section', 'graph', make('h2', '', spec.name));
    if (spec.cards) this.root.append(make('div', 'cards', ...spec.cards.map(c =>
      make('div', 'card', make('small', '', c[0]), make('b', '', c[1]), ...(c[2] ? [make('i', '', c[2])] : [])))));
    for (const part of spec.parts) this.root.append(this.part(part));
  }

  part(p) {
    const count = p.table ? whole(p.table.rows.length) : '';
    const about = make('small', '', [count, p.about].filter(Boolean).join(' \u00b7 '));
    const root = make('details', 'part', make('summary', '', p.title, about));
    const inside = make('div', 'inside');
    root.id = p.id;
    root.append(inside);
    root.open = !!p.open;
    const fill = () => {
      if (inside.childNodes.length) return;
      if (p.note) inside.append(make('p', 'note', p.note));
      for (const b of p.bars || []) inside.append(this.bar(b));
      if (p.roofline && p.roofline.peak) inside.append(new Roofline(this, p.roofline).root);
      if (p.timeline) inside.append((this.timeline = new Timeline(this, p.timeline)).root);
      if (p.table) inside.append((this.tables[p.table.id] = new Table(this, p.table)).root);
    };
    root.ontoggle = () => { if (root.open) fill(); };
    this['open_' + p.id] = () => { root.open = true; fill(); };
    if (p.open) fill();
    return root;
  }

  bar(b) {
    const all = b.parts.reduce((s, p) => s + p[1], 0) || 1;
    const bar = make('div', 'bar'), legend = make('div', 'legend', make('b', '', b.title));
    for (const [label, value, text] of b.parts) {
      const piece = make('div'), dot = make('span', 'dot');
      piece.style.cssText = 'flex:' + value / (b.all || all) + ';background:' + color(units[label] ?? 4);
      piece.title = label + ' ' + text;
      dot.style.background = color(units[label] ?? 4);
      if (value) bar.append(piece);
      legend.append(make('span', '', dot, label + ' ' + text));
    }
    return make('div', 'bars', legend, bar);
  }

  table(id, part) {
    this['open_' + part]();
    return this.tables[id];
  }

  goOperator(op) {
    const part = this.spec.parts.find(p => p.table && p.table.of === 'operators');
    if (!part) return;
    const column = part.table.columns.findIndex(c => c.kind === 'op');
    const row = part.table.rows.findIndex(r => r[column] === op);
    if (row >= 0) this.table(part.table.id, part.id).go(row);
  }

  // What a row leads to: its operator elsewhere on the page, its step in the memory map.
  linksOf(table, row) {
    const list = [], columns = table.spec.columns;
    const op = columns.findIndex(c => c.kind === 'op'), step = columns.findIndex(c => c.key === 'step');
    if (op < 0 || row[op] < 0) return list;
    for (const p of this.spec.parts) {
      const focus = () => { this['open_' + p.id](); this.timeline.focus(row[op]); };
      if (p.timeline) list.push(button('in the timeline', '', '', focus));
      if (p.table && p.table.of === 'pieces' && p.table !== table.spec)
        list.push(button(p.title, '', 'its rows there', () => {
          const other = this.table(p.table.id, p.id);
          other.filter(p.table.columns.find(c => c.kind === 'op').key, this.ops[row[op]][1]);
          other.root.scrollIntoView();
        }));
    }
    if (table.spec.of !== 'operators') list.push(button('the operator', '', '', () => this.goOperator(row[op])));
    if (data.links.memory_map && step >= 0) {
      const a = make('a', 'button', 'memory map, step ' + row[step]);
      a.href = encodeURI(data.links.memory_map) + '#graph=' + this.spec.index + '&step=' + row[step];
      list.push(a);
    }
    return list;
  }
}

// ---- the page ----------------------------------------------------------------------------------------------------------

function theme(to) {
  document.documentElement.dataset.theme = to;
  for (const g of graphs) if (g.timeline) g.timeline.paint();
}
const graphs = [];
theme(matchMedia('(prefers-color-scheme:dark)').matches ? 'dark' : 'light');
document.getElementById('theme').onclick = () => {
  theme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
};
for (const spec of data.graphs) {
  const g = new Graph(spec);
  graphs.push(g);
  document.querySelector('main').append(g.root);
}
