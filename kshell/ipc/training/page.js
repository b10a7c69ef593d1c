"use strict";
const KEPT = 20000; // losses kept of each curve
const $ = (id) => document.getElementById(id);
const curves = new Map(); // name -> {count, values, canvas, title}
let socket = null;
let number = 0;

function element(tag, text, parent, kind) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  if (kind) made.className = kind;
  if (parent) parent.append(made);
  return made;
}

function shown(x) {
  if (x === null || x === undefined) return "";
  return x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5) ? x.toExponential(3) : String(Number(x.toPrecision(5)));
}

function bytes(n) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i += 1; }
  return `${n.toFixed(n < 10 && i ? 1 : 0)} ${units[i]}`;
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/train`);
  socket.onopen = () => telling("live", "on");
  socket.onclose = () => { telling("not connected, trying again", "off"); curves.forEach((c) => { c.count = 0; }); setTimeout(connect, 2000); };
  socket.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.kind === "state") state(message);
    else if (message.kind === "answer" && message.number === number) answer(message);
  };
}

function telling(text, kind) {
  $("connection").textContent = text;
  $("connection").className = kind;
}

function state(s) {
  $("rights").textContent = s.reads ? "read only" : "";
  telling(s.problem ? s.problem : `live, ${new Date(s.at * 1000).toLocaleTimeString()}`, s.problem ? "off" : "on");
  memory(s.memory);
  (s.losses || []).forEach(curve);
  models(s.models || []);
  const log = $("log");
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  log.textContent = s.log.map((e) => `${new Date(e.at * 1000).toLocaleTimeString()}  ${e.handle}  ${e.user}  ${e.what}`).join("\n");
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function memory(m) {
  if (!m) return;
  let text = `${bytes(m.host)} of ${bytes(m.machine)}`;
  if (m.gpu) text += `, ${m.gpu.name}: ${bytes(m.gpu.used)} (at most ${bytes(m.gpu.peak)}) of ${bytes(m.gpu.total)}`;
  $("memory").textContent = text;
}

function curve(update) {
  let c = curves.get(update.name);
  if (!c) {
    const card = element("div", null, $("losses"), "card");
    const title = element("h2", update.name, card);
    c = { count: 0, values: [], note: element("small", "", title), canvas: element("canvas", null, card) };
    c.canvas.setAttribute("role", "img");
    title.insertBefore(document.createTextNode(" "), c.note);
    curves.set(update.name, c);
  }
  if (!update.values.length && c.count === update.count) return;
  if (update.count < c.count || c.count === 0) c.values = [];
  c.values = c.values.concat(update.values).slice(-KEPT);
  c.count = update.count;
  const last = c.values[c.values.length - 1];
  c.note.textContent = `loss ${last === null ? "not finite" : shown(last)}, batch ${c.count}`;
  c.canvas.setAttribute("aria-label", `${update.name}: ${c.note.textContent}`);
  draw(c);
}

function draw(c) {
  const ratio = window.devicePixelRatio || 1;
  const width = c.canvas.clientWidth, height = c.canvas.clientHeight;
  c.canvas.width = width * ratio;
  c.canvas.height = height * ratio;
  const g = c.canvas.getContext("2d");
  g.scale(ratio, ratio);
  const finite = c.values.filter((v) => v !== null);
  if (!finite.length || !width) return;
  const style = getComputedStyle(document.documentElement);
  const low = finite.reduce((a, b) => Math.min(a, b)), high = finite.reduce((a, b) => Math.max(a, b));
  const span = high - low || 1, left = 62, bottom = height - 20, right = width - 6, top = 8;
  const x = (i) => left + (right - left) * (c.values.length > 1 ? i / (c.values.length - 1) : 0);
  const y = (v) => bottom - (bottom - top) * (v - low) / span;
  g.font = "12px system-ui, sans-serif";
  g.fillStyle = style.getPropertyValue("--faint");
  g.strokeStyle = style.getPropertyValue("--rule");
  g.textAlign = "right";
  for (let k = 0; k <= 4; k += 1) {
    const v = low + span * k / 4;
    g.beginPath(); g.moveTo(left, y(v)); g.lineTo(right, y(v)); g.stroke();
    g.fillText(shown(v), left - 6, y(v) + 4);
  }
  g.fillText(String(c.count), right, height - 4);
  g.textAlign = "left";
  g.fillText(String(Math.max(1, c.count - c.values.length + 1)), left, height - 4);
  g.strokeStyle = style.getPropertyValue("--line");
  line(g, c.values, x, y, 0.35, 1);
  let mean = null;
  const smooth = c.values.map((v) => { if (v !== null) mean = mean === null ? v : mean + (v - mean) / 20; return mean; });
  line(g, smooth, x, y, 1, 2);
}

function line(g, values, x, y, alpha, width) {
  g.globalAlpha = alpha;
  g.lineWidth = width;
  g.beginPath();
  let pen = false;
  values.forEach((v, i) => {
    if (v === null) pen = false;
    else if (pen) g.lineTo(x(i), y(v));
    else { g.moveTo(x(i), y(v)); pen = true; }
  });
  g.stroke();
  g.globalAlpha = 1;
}

function models(list) {
  const place = $("models");
  const scrolled = new Map([...place.querySelectorAll(".scroll")].map((e) => [e.dataset.name, e.scrollTop]));
  place.replaceChildren();
  if (!list.length) element("p", "No model, module or optimizer is held by a variable yet.", place, "card empty");
  list.forEach((m) => {
    const card = element("div", null, place, "card");
    const title = element("h2", `${m.name} `, card);
    const parts = [m.kind, m.module, m.loss, m.optimizer].filter((part, i, all) => part && all.indexOf(part) === i);
    const rates = m.rates.filter((rate) => rate !== null).map(shown);
    element("small", `${parts.join(", ")}; ${m.count.toLocaleString()} parameters${rates.length ? `; rate ${rates.join(" ")}` : ""}`, title);
    if (!m.parameters.length) return;
    const scroll = element("div", null, card, "scroll");
    scroll.dataset.name = m.name;
    rows(element("table", null, scroll), m);
    scroll.scrollTop = scrolled.get(m.name) || 0;
  });
}

function rows(table, m) {
  const head = element("tr", null, element("thead", null, table));
  ["parameter", "size", "norm", "gradient", "rate"].forEach((name) => element("th", name, head));
  const body = element("tbody", null, table);
  m.parameters.forEach((p) => {
    const row = element("tr", null, body);
    [p.name, p.size.join(" "), shown(p.norm), shown(p.grad), shown(p.rate)].forEach((text) => element("td", text, row));
  });
  if (m.more) element("td", `and ${m.more} more`, element("tr", null, body), "empty");
}

function answer(a) {
  $("answer").textContent = a.text;
  $("answer").className = a.failed ? "failed" : "";
}

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = $("query").value;
  if (!query.trim() || !socket || socket.readyState !== WebSocket.OPEN) return;
  number += 1;
  $("answer").textContent = "..";
  $("answer").className = "empty";
  socket.send(JSON.stringify({ number, query }));
});
window.addEventListener("resize", () => curves.forEach(draw));
connect();
