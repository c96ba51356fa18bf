"use strict";
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const TEXTS = [...document.querySelectorAll("textarea")];
  const items = data.items;
  const index = new Map(items.map((item, n) => [item.id, n]));
  const records = new Map();
  const queue = [];
  let pumping = null;
  const history = [];
  let at = 0;
  let shownSince = 0;
  let lastActive = Date.now();

  // --- where drafts are kept: IndexedDB, written to disk before a label counts as saved ---------------------------
  const wait = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const key = (item) => [data.sample, data.annotator, item];
  const blank = (item) => ({ item, label: "", reason: "", fields: {}, seconds: 0 });
  const merged = (record, patch) => {
    const { fields, add, ...rest } = patch;
    return { ...record, ...rest, fields: { ...record.fields, ...fields }, seconds: record.seconds + (add || 0) };
  };
  const open = async () => {
    const request = indexedDB.open("scirgen-label", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("drafts", { keyPath: "key" });
    return wait(request);
  };
  let db = null;
  try {
    // A browser that was killed a moment ago can hold the database's lock a little longer.
    for (let pause = 100; !db; pause *= 2) {
      db = await open().catch((error) => { if (pause > 2000) throw error; return new Promise((go) => setTimeout(go, pause)); });
    }
    if (navigator.storage && navigator.storage.persist) navigator.storage.persist().catch(() => {});
  } catch {
    warn("This browser does not keep drafts for this page. Download your labels before you close it.");
    addEventListener("beforeunload", (event) => event.preventDefault());
  }

  // Chromium deletes the database when a kill tore the end of its log and a later start wrote on behind the tear: a copy
  // in the cache, which keeps a file an item, brings the labels back. Cache keys must be web addresses; none is asked.
  const copies = await Promise.resolve().then(() => caches.open("scirgen-label")).catch(() => null);
  const place = (item) => `https:labels.invalid/${encodeURIComponent(JSON.stringify(key(item)))}`;
  const restore = async () => {
    const lost = [];
    for (const { id } of copies ? items.filter((item) => !records.has(item.id)) : []) {
      const copy = await copies.match(place(id));
      const record = copy && await copy.json();
      if (record) lost.push([id, (now) => (touched(now) ? now : record)]);
    }
    await store(lost);
  };

  const readAll = async () => {
    if (!db || queue.length) return;
    const range = IDBKeyRange.bound(key(""), key("\uffff"));
    const found = await wait(db.transaction("drafts").objectStore("drafts").getAll(range));
    // Only those of this sample and annotator: other pages share the database.
    found.forEach(({ record }) => { if (index.has(record.item)) records.set(record.item, record); });
  };

  // A change is a patch on what is stored, so that two tabs on one item do not overwrite each other's fields.
  const store = async (changes) => {  // [item, record => record] in order; resolves when they are on disk
    if (!db) {
      changes.forEach(([item, change]) => records.set(item, change(records.get(item) || blank(item))));
      return;
    }
    const transaction = db.transaction("drafts", "readwrite", { durability: "strict" });
    const drafts = transaction.objectStore("drafts");
    const written = new Map();
    const complete = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
    });
    for (const [item, change] of changes) {
      const before = written.get(item) || (await wait(drafts.get(key(item))) || {}).record || blank(item);
      const record = change(before);
      drafts.put({ key: key(item), record });
      written.set(item, record);
    }
    await complete;
    const copy = ([item, record]) => copies.put(place(item), new Response(JSON.stringify(record))).catch(() => {});
    if (copies) await Promise.all([...written].map(copy));
    // A later change of the same item is still on its way: what the page shows already holds it.
    written.forEach((record, item) => { if (!queue.some(([other]) => other === item)) records.set(item, record); });
  };

  // What is typed while a transaction runs goes into the next one, together.
  const pump = async () => {
    while (queue.length) {
      const batch = queue.splice(0);
      await store(batch.map(([item, patch]) => [item, (record) => merged(record, patch)]));
      const touched = new Set(batch.map(([item]) => item));
      if (channel) touched.forEach((item) => channel.postMessage(item));
    }
    saving(db ? "Saved in this browser." : "Kept on this page only: download your labels.");
  };
  const save = (item, patch, undoable = true) => {
    if (undoable) history.push([item, records.get(item) || blank(item)]);
    records.set(item, merged(records.get(item) || blank(item), patch));
    queue.push([item, patch]);
    tell("");
    saving("Saving …");
    if (!pumping) {
      pumping = pump().catch((error) => warn(`Not saved: ${error.message || error}. Download your labels now.`))
        .finally(() => { pumping = null; });
    }
    draw();
  };

  const undo = () => {
    const last = history.pop();
    if (!last) return tell("Nothing to undo.");
    const [item, before] = last;
    const { label, reason, fields } = before;
    const emptied = Object.fromEntries(Object.keys((records.get(item) || before).fields).map((name) => [name, ""]));
    at = index.get(item);
    save(item, { label, reason, fields: { ...emptied, ...fields } }, false);
    show();
    tell("Undone.");
  };

  // --- what counts as finished --------------------------------------------------------------------------------------
  const missing = (record) => {
    if (!record || !record.label) return "label";
    if (data.reason && !record.reason.trim()) return "reason";
    return data.required.find((name) => !record.fields[name]) || "";
  };
  const NAMES = { label: "the label", reason: "the reason", stands_alone: "“understandable alone”", fits_type: "“fits its type”" };

  // --- drawing ------------------------------------------------------------------------------------------------------
  const el = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
    made.append(...children.filter((c) => c !== null && c !== undefined && c !== ""));
    return made;
  };
  function tell(text) { $("status").textContent = text; }
  function saving(text) { $("saved").textContent = text; }  // its own place: a save that ends later must not replace a message
  function warn(text) { $("warning").textContent = text; $("warning").hidden = false; }

  const whole = (text, quotes) => {
    const places = quotes.map((q) => [text.indexOf(q), q.length]).filter(([start]) => start >= 0).sort((a, b) => a[0] - b[0]);
    const parts = [];
    let done = 0;
    places.forEach(([start, length]) => {
      if (start < done) return;
      parts.push(text.slice(done, start), el("mark", {}, text.slice(start, start + length)));
      done = start + length;
    });
    return el("div", { class: "whole", tabindex: "0", role: "region", "aria-label": "Whole context" }, ...parts, text.slice(done));
  };

  const sheet = (piece) => {
    const picture = data.pictures[piece.picture];
    const frame = el("div", { class: "sheet" }, el("img", { src: picture.src, width: Math.round(picture.width * 1.25), height: Math.round(picture.height * 1.25), alt: `Page ${piece.page} of ${piece.where}; the evidence is framed` }));
    if (piece.bbox) {
      const [x0, y0, x1, y1] = piece.bbox;
      const box = el("span");
      Object.assign(box.style, { left: `${100 * x0 / picture.width}%`, top: `${100 * y0 / picture.height}%`,
        width: `${100 * (x1 - x0) / picture.width}%`, height: `${100 * (y1 - y0) / picture.height}%` });
      frame.append(box);
    }
    return frame;
  };

  const folded = (id, title, shortcut, make) => {
    const part = el("details", { id }, el("summary", {}, `${title} `, el("kbd", {}, shortcut)));
    part.addEventListener("toggle", () => { if (part.open && part.children.length === 1) part.append(...make());
      if (part.open && part.getBoundingClientRect().bottom > innerHeight) part.scrollIntoView({ block: "start" }); });
    return part;
  };

  const content = (item) => {
    const parts = [];
    if (item.question_type) {
      parts.push(el("p", { class: "meta" }, el("strong", {}, item.question_type), item.type_definition ? `: ${item.type_definition}` : ""));
    }
    parts.push(el("h3", {}, data.heading), el("p", { class: "question" }, item.question));
    if (item.answer) parts.push(el("h3", {}, "Answer"), el("p", { class: "answer" }, item.answer));
    if (item.aspects.length) parts.push(el("h3", {}, "Aspects"), el("ul", {}, ...item.aspects.map((a) => el("li", {}, a))));
    if (item.text) parts.push(el("h3", {}, "Document"), el("p", {}, el("strong", {}, item.title)), el("p", { class: "document" }, item.text));
    else if (item.title) parts.push(el("p", { class: "meta" }, "Dataset: ", item.title));
    if (item.evidence.length) {
      parts.push(el("h3", {}, "Evidence"));
      item.evidence.forEach((e) => parts.push(el("blockquote", {},
        el("p", {}, e.before, el("mark", {}, e.text), e.after), e.where ? el("small", {}, e.where) : "")));
    }
    (item.given || []).forEach((g, n) => parts.push(el("div", { class: "given" },
      el("h3", {}, n ? "Second reader" : "First reader"), el("p", {}, el("strong", {}, g.label), g.reason ? `: ${g.reason}` : ""),
      ...Object.entries(g.fields).filter(([, v]) => v).map(([name, v]) => el("p", { class: "meta" }, `${name.replace("_", " ")}: ${v}`)))));
    const context = data.contexts[item.context];
    if (context) parts.push(folded("context", "Whole context", "c", () => [whole(context, item.evidence.map((e) => e.text))]));
    const pages = item.evidence.filter((e) => e.picture in data.pictures);
    if (pages.length) parts.push(folded("page", pages.length > 1 ? "Pages" : "Page", "p", () => pages.map(sheet)));
    return parts;
  };

  const drafted = (item, name) => (name === "aspects" ? item.aspects.join("\n") : item[name]);

  const fill = () => {
    const item = items[at];
    const record = records.get(item.id) || blank(item.id);
    document.querySelectorAll("#form input[type=radio]").forEach((r) => {
      const value = r.name === "label" ? record.label : record.fields[r.name] || "";
      r.checked = r.value === value;
    });
    TEXTS.forEach((area) => {
      const value = area.dataset.text ? record[area.dataset.text] : record.fields[area.id] || drafted(item, area.dataset.draft);
      if (area.dataset.draft && document.activeElement === area && !area.value) return;  // emptied to be written again: no draft under the fingers
      if (area.value !== value) area.value = value;
    });
    const lack = missing(record);
    $("missing").textContent = lack ? `Still missing: ${NAMES[lack]}.` : "Complete.";
    $("missing").classList.toggle("complete", !lack);
  };

  const draw = () => {
    const done = items.length - unfinished();
    $("finished").hidden = done < items.length;
    $("finished").textContent = END;
    $("progress").max = items.length;
    $("progress").value = done;
    $("done").textContent = `${done} of ${items.length}`;
    fill();
  };

  const show = () => {
    const item = items[at];
    $("heading").textContent = `Item ${at + 1} of ${items.length}`;
    $("content").replaceChildren(...content(item));
    $("jump").value = at + 1;
    $("jump").max = items.length;
    if (document.activeElement && document.activeElement.tagName === "TEXTAREA") document.activeElement.blur();
    draw();
    shownSince = Date.now();
    try { sessionStorage.setItem(`scirgen-at-${data.sample}-${data.annotator}`, String(at)); } catch { /* not kept */ }
  };

  const count = () => {  // seconds the item was in view, without pauses of more than a minute
    const now = Date.now();
    const seconds = document.hidden || now - lastActive > 60000 ? 0 : (now - shownSince) / 1000;
    shownSince = now;
    return Math.min(seconds, 60);
  };

  // The time after the last change, spent on reading again, belongs to the item too.
  const leave = () => {
    const seconds = count();
    const item = items[at].id;
    if (records.has(item) && touched(records.get(item)) && seconds) save(item, { add: seconds }, false);
  };

  const unfinished = () => items.filter((item) => missing(records.get(item.id))).length;
  const END = "Done: all items are labelled. Download your labels, and send the file back.";
  const go = (to) => {
    if (to < 0) return tell("This is the first item.");
    if (to >= items.length) return tell(unfinished() ? `This is the last item; ${unfinished()} are not finished (f).` : END);
    leave();
    at = to;
    show();
    $("heading").focus();
    scrollTo(0, 0);
  };
  const first = () => {
    const to = items.findIndex((item) => missing(records.get(item.id)));
    if (to < 0) return tell(END);
    go(to);
  };
  const set = (name, value) => {
    const patch = name === "label" ? { label: value } : { fields: { [name]: value } };
    return save(items[at].id, { ...patch, add: count() });
  };

  // --- files --------------------------------------------------------------------------------------------------------
  const line = (record) => JSON.stringify({ sample: data.sample, item: record.item, task: data.task, annotator: data.annotator,
    label: record.label, reason: record.reason, fields: Object.fromEntries(Object.entries(record.fields).filter(([, v]) => v)),
    seconds: Math.round(record.seconds * 10) / 10, guideline: data.guideline });
  const touched = (record) => record.label || record.reason || Object.values(record.fields).some(Boolean);
  const download = () => {
    const text = items.map((item) => records.get(item.id)).filter((r) => r && touched(r)).map((r) => line(r) + "\n").join("");
    const url = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
    const link = el("a", { href: url, download: `${data.annotator}.jsonl` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    tell(`${data.annotator}.jsonl holds all labels and drafts of this page.`);
  };
  const load = async (file) => {
    const loaded = [];
    for (const [n, text] of (await file.text()).split("\n").entries()) {
      if (!text.trim()) continue;
      let one;
      try { one = JSON.parse(text); } catch { return warn(`${file.name}, line ${n + 1}: not a label.`); }
      const wrong = one.sample !== data.sample ? "of another sample" : one.annotator !== data.annotator ? `of ${one.annotator}, not ${data.annotator}`
        : one.guideline !== data.guideline ? "made with another guideline" : index.has(one.item) ? "" : "of an unknown item";
      if (wrong) return warn(`${file.name}, line ${n + 1}: a label ${wrong}. Nothing was loaded.`);
      loaded.push({ label: "", reason: "", fields: {}, seconds: 0, ...one });
    }
    const same = (a, b) => a.label === b.label && a.reason === b.reason && JSON.stringify(Object.entries(a.fields).sort()) === JSON.stringify(Object.entries(b.fields).filter(([, v]) => v).sort());
    const differ = loaded.filter((one) => records.has(one.item) && touched(records.get(one.item)) && !same(one, records.get(one.item)));
    let take = true;
    if (differ.length) {
      $("conflicttext").textContent = `${differ.length} of ${loaded.length} items have other labels in the file than on this page.`;
      $("conflict").showModal();
      take = await new Promise((resolve) => {
        $("takefile").onclick = () => resolve(true);
        $("keepmine").onclick = () => resolve(false);
        $("conflict").oncancel = () => resolve(false);
      });
      $("conflict").close();
    }
    const keep = new Set(take ? [] : differ.map((one) => one.item));
    for (const one of loaded) {
      if (keep.has(one.item) || (records.has(one.item) && same(one, records.get(one.item)))) continue;
      const { label, reason, fields, seconds } = one;
      await store([[one.item, (now) => ({ ...merged(now, { label, reason, fields }), seconds: Math.max(now.seconds, seconds) })]]);
    }
    show();
    tell(`${loaded.length} labels loaded from ${file.name}.`);
  };

  // --- events -------------------------------------------------------------------------------------------------------
  const channel = typeof BroadcastChannel === "function" ? new BroadcastChannel(`scirgen-label-${data.sample}-${data.annotator}`) : null;
  const refresh = () => Promise.resolve(pumping).then(readAll).then(draw).catch(() => {});
  if (channel) channel.onmessage = refresh;
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { shownSince = Date.now(); refresh(); } });
  addEventListener("focus", refresh);
  ["keydown", "pointerdown", "scroll", "pointermove"].forEach((name) => addEventListener(name, () => {
    if (Date.now() - lastActive > 60000) shownSince = Date.now();
    lastActive = Date.now();
  }, { passive: true, capture: true }));

  document.querySelectorAll("#form input[type=radio]").forEach((r) => r.addEventListener("change", () => set(r.name, r.value)));
  TEXTS.forEach((area) => {
    let before = null;
    area.addEventListener("focus", () => { before = records.get(items[at].id) || blank(items[at].id); });
    area.addEventListener("input", () => {
      const item = items[at];
      if (before) { history.push([item.id, before]); before = null; }  // one step of undo for one visit to the field
      const value = area.dataset.draft && area.value === drafted(item, area.dataset.draft) ? "" : area.value;
      save(item.id, area.dataset.text ? { reason: area.value, add: count() } : { fields: { [area.id]: value }, add: count() }, false);
    });
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { area.blur(); $("heading").focus(); event.stopPropagation(); }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); go(at + 1); }
    });
  });
  $("form").addEventListener("submit", (event) => event.preventDefault());
  $("previous").addEventListener("click", () => go(at - 1));
  $("next").addEventListener("click", () => go(at + 1));
  $("first").addEventListener("click", first);
  $("undo").addEventListener("click", undo);
  $("download").addEventListener("click", download);
  $("load").addEventListener("change", async () => { if ($("load").files[0]) { await load($("load").files[0]); $("load").value = ""; } });
  $("jump").addEventListener("change", () => { const to = Number($("jump").value) - 1; if (Number.isInteger(to)) go(Math.min(Math.max(to, 0), items.length - 1)); });
  const help = () => ($("keys").open ? $("keys").close() : $("keys").showModal());
  $("help").addEventListener("click", help);
  $("closekeys").addEventListener("click", () => $("keys").close());
  try { $("single").checked = localStorage.getItem("scirgen-label-single") !== "no"; } catch { /* not kept */ }
  $("single").addEventListener("change", () => { try { localStorage.setItem("scirgen-label-single", $("single").checked ? "yes" : "no"); } catch { /* not kept */ } });

  const toggle = (id) => { const part = $(id); if (part && "open" in part) { part.open = !part.open; } };
  const edit = () => {
    const part = $("edit");
    if (!part) return;
    if ("open" in part) part.open = true;
    part.querySelector("textarea").focus();
  };
  const COMMANDS = { j: () => go(at + 1), k: () => go(at - 1), f: first, z: undo, r: () => $("reason").focus(), e: edit,
    c: () => toggle("context"), p: () => toggle("page"), g: () => toggle("guideline"), "?": help };
  const FIELDS = data.task === "faithful"
    ? { 1: ["stands_alone", "yes"], 2: ["stands_alone", "no"], 3: ["fits_type", "yes"], 4: ["fits_type", "no"] } : {};
  const CHOICES = Object.fromEntries(data.choices.map((c) => [c.key, c.id]));
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("textarea, input[type=number], input[type=file]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || $("conflict").open) return;
    if (!$("single").checked && event.key !== "?") return;
    if ($("keys").open && event.key !== "?") return;
    const act = event.key in CHOICES ? () => { set("label", CHOICES[event.key]); if (data.reason) $("reason").focus(); }
      : event.key in FIELDS ? () => set(...FIELDS[event.key]) : COMMANDS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // --- begin --------------------------------------------------------------------------------------------------------
  await readAll();
  await restore();
  document.querySelector(".bar").hidden = false;
  $("main").hidden = false;
  const left = Number(sessionStorage.getItem(`scirgen-at-${data.sample}-${data.annotator}`) ?? NaN);
  at = Number.isInteger(left) && left >= 0 && left < items.length ? left : Math.max(0, items.findIndex((item) => missing(records.get(item.id))));
  if (!records.size) $("guideline").open = true;
  show();
  tell(records.size ? "Your earlier labels are here." : "Read the guideline, then begin. Press ? for the keys.");
  document.documentElement.dataset.ready = "yes";
})();
