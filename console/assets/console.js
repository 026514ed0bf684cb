// What the pages do with JavaScript. Every page can be read without it.
"use strict";

// A link of the command has the token after "#", which browsers do not send to any server.
const login = document.getElementById("login");
if (login && location.hash.startsWith("#token=")) {
  document.getElementById("token").value = decodeURIComponent(location.hash.slice("#token=".length));
  history.replaceState(null, "", location.pathname);
  login.submit();
}

// Buttons that cannot be undone ask first.
for (const button of document.querySelectorAll("[data-confirm]")) {
  button.addEventListener("click", (event) => {
    if (!confirm(button.dataset.confirm)) event.preventDefault();
  });
}

// A run that has not ended grows while it is looked at. Entries that arrive within a frame are added together, at most 50.
const timeline = document.querySelector("[data-live]");
if (timeline) {
  const source = new EventSource(timeline.dataset.live);
  let waiting = [], ended = false;
  const add = () => {
    const follow = innerHeight + scrollY >= document.body.scrollHeight - 80;
    const holder = document.createElement("template");
    holder.innerHTML = waiting.splice(0, 50).join("");
    for (const item of holder.content.children) {
      if (!document.getElementById(item.id)) item.classList.add("new");
      else item.remove();
    }
    timeline.append(holder.content);
    if (follow) scrollTo(0, document.body.scrollHeight);
    if (waiting.length > 0) requestAnimationFrame(add);
    else if (ended) location.reload();
  };
  source.addEventListener("entry", (event) => {
    if (waiting.push(event.data) === 1) requestAnimationFrame(add);
  });
  source.addEventListener("end", () => {
    source.close();
    ended = true;
    if (waiting.length === 0) location.reload();
  });
}

// The arrow keys go through a run step by step.
const player = document.querySelector(".player");
if (player) {
  addEventListener("keydown", (event) => {
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    if (!rel || event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea, pre")) return;
    const link = player.querySelector(`a[rel=${rel}]`);
    if (link) location.assign(link.href);
  });
}
