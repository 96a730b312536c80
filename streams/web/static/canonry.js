/* Keys, links between boxes and blocks, and what changes while a page is open. Everything works without it but keys. */
"use strict";
const all = (query, within = document) => [...within.querySelectorAll(query)];
const one = (query) => document.querySelector(query);
const say = (text) => { one("#say").textContent = text; };
const help = one("#help");

one("#help-button")?.addEventListener("click", () => help.showModal());

/* --- keys --- */
let second = "";
function step(items, by) {
  if (!items.length) return;
  const at = items.indexOf(document.activeElement);
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}
function press(target) {
  if (target.matches("input[type=radio]")) {
    if (target.disabled) { say(target.dataset.unfit); flash(target.dataset.unfit); return; }
    one("#flash")?.remove();
    target.checked = true;
    target.dispatchEvent(new Event("change", { bubbles: true }));
    const form = target.form;
    const tool = form.elements.extractor;
    (target.value === "re_extract" && tool.options.length > 1 ? tool : form.elements.reason).focus();
    if (document.activeElement.select) document.activeElement.select();
  } else target.click();
}
function flash(text) {
  let shown = one("#flash");
  if (!shown) {
    shown = document.createElement("div");
    shown.id = "flash"; shown.className = "toast bad";
    one("#main").prepend(shown);
  }
  shown.textContent = `Not possible: ${text}.`;
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help.open) return;
  const field = event.target.closest("input:not([type=radio], [type=checkbox]), select, textarea");
  if (field) {
    if (event.key === "Escape") field.blur();
    if (event.key === "Enter" && field.matches("select") && field.form.matches(".decide, .many")) {
      event.preventDefault();
      field.form.requestSubmit();
    }
    return;
  }
  const handled = () => { event.preventDefault(); second = ""; };
  if (second === "g") {
    const to = { q: "/", g: "/groups", d: "/decided", s: "/status" }[event.key];
    if (to) { handled(); location.assign(to); return; }
  }
  second = event.key === "g" ? "g" : "";
  const rows = all("[data-row]");
  const blocks = all("article.block");
  const items = rows.length ? rows : blocks;
  const by = { j: 1, k: -1, ...(rows.length ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
  if (by) { handled(); step(items, by); return; }
  if (event.key === "?") { handled(); help.showModal(); return; }
  if (event.key === "/" && one("#first-filter")) { handled(); one("#first-filter").focus(); return; }
  if (event.key === "Escape") { document.activeElement.blur(); return; }
  if (event.key === "Enter" && event.target.matches("input[type=radio]")) { handled(); event.target.form.requestSubmit(); return; }
  const target = one(`[data-key="${CSS.escape(event.key)}"]`);
  if (target) { handled(); press(target); }
  else if (event.key === "x") document.activeElement.closest("tr")?.querySelector("a.button")?.click();
  else if (event.key === "n") one("a[rel=next]")?.click();
  else if (event.key === "u") location.assign("/decided");
});

/* --- the form: reasons that begin with the choice, and stay once they were edited --- */
const begun = new Set(all("[data-reason]").map((radio) => radio.dataset.reason));
document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (!form?.elements.reason || !event.target.matches("[name=kind], [name=extractor]")) return;
  const radio = all("[name=kind]", form).find((each) => each.checked);
  const reason = form.elements.reason;
  if (!radio || (reason.value && !begun.has(reason.value))) return;
  const tool = form.elements.extractor;
  const named = radio.value === "re_extract" && tool.value && tool.selectedIndex > 0;
  reason.value = named ? `${tool.value} may read it` : radio.dataset.reason;
  begun.add(reason.value);
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) { event.preventDefault(); return; }
  form.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => all("form[data-sent]").forEach((form) => { delete form.dataset.sent; }));

/* --- boxes and blocks --- */
function light(number, from) {
  all(".on[data-block]").forEach((each) => each.classList.remove("on"));
  all(`[data-block="${CSS.escape(number)}"]`).forEach((each) => {
    each.classList.add("on");
    if (each !== from && from) each.scrollIntoView({ block: "nearest" });
  });
}
for (const name of ["mouseover", "focusin"]) {
  document.addEventListener(name, (event) => {
    const block = event.target.closest?.("[data-block]");
    if (block) light(block.dataset.block, name === "focusin" ? block : null);
  });
}
document.addEventListener("click", (event) => {
  const box = event.target.closest?.("rect[data-block]");
  if (!box) return;
  event.preventDefault();
  one(`#b${CSS.escape(box.dataset.block)}`)?.focus();
});
all("img[data-failed]").forEach((image) => {
  const failed = () => { image.parentElement.dataset.message = image.dataset.failed; image.parentElement.classList.add("failed"); };
  image.addEventListener("error", failed);
  if (image.complete && !image.naturalWidth) failed();
});

/* --- what becomes of decisions --- */
function showWhatCame() { /* the page was made before; nobody is taken away from a form or a row */
  const idle = [document.body, one("#main")].includes(document.activeElement);
  if (one("[data-waits]") || (idle && !one("form.decide"))) location.reload();
}
all("[data-poll]").forEach((toast) => {
  let wait = 400;
  async function ask() {
    try {
      const answer = await fetch(toast.dataset.poll, { headers: { Accept: "application/json" } });
      const found = await answer.json();
      if (answer.ok) {
        toast.querySelector(".toast-text").textContent = found.text;
        toast.querySelector(".toast-note").textContent = found.note;
        toast.classList.toggle("bad", found.failed);
        if (found.over) { delete toast.dataset.poll; showWhatCame(); return; }
      } else { toast.querySelector(".toast-note").textContent = found.error ?? ""; }
    } catch { toast.querySelector(".toast-note").textContent = "The server does not answer."; }
    wait = Math.min(wait * 1.3, 3000);
    setTimeout(ask, wait);
  }
  setTimeout(ask, wait);
});

/* --- the status page --- */
const fresh = one("[data-refresh]");
if (fresh) {
  setInterval(async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch(location.href);
      const found = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-refresh]");
      if (answer.ok && found) one("[data-refresh]").replaceChildren(...found.childNodes);
    } catch { say("The server does not answer."); }
  }, Number(fresh.dataset.refresh) * 1000);
}
