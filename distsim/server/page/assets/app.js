// The page: which view stands at an address, the token, and the look (light, dark, or as the system has it).

import { get, setToken, token } from "./api.js";
import { announce, button, fill, h, notice } from "./dom.js";
import { newRunView } from "./new_run.js";
import { runView } from "./run.js";
import { runsView } from "./runs.js";

const LOOK = "distsim.look";
const LOOKS = ["system", "light", "dark"];
const main = document.getElementById("main");
let view = null;
let shownId = null;

function show() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [first = "", id = "", tab = ""] = path.split("/");
  const isRun = (first === "simulations" || first === "runs") && /^sim_[a-z2-7]+$/.test(id);
  if (isRun && id === shownId && view?.turn?.(tab || "summary")) return;
  view?.close();
  shownId = isRun ? id : null;
  const given = new URLSearchParams(search);
  if (isRun) view = runView(id, tab);
  else if (first === "new") view = newRunView({ run: safe(given.get("run")), config: safe(given.get("config")) });
  else view = runsView();
  fill(main, view.element);
  document.title = `${view.title} – distsim`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === (first === "new" ? "#/new" : "#/runs")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (moved) main.querySelector("h1")?.focus();
  moved = true;
}
let moved = false; // the first view leaves the focus where it is

/** Ids in addresses are letters, digits, - and _. */
function safe(text) {
  return text !== null && /^[\w-]+$/.test(text) ? text : "";
}

function tokenForm(why) {
  const input = h("input", { type: "password", name: "token", autocomplete: "off", required: true, size: 40 });
  const says = h("div", { "aria-live": "assertive" }, why ? notice("warning", why) : null);
  const dialog = h(
    "dialog",
    { class: "token", "aria-labelledby": "token-title" },
    h("h2", { id: "token-title" }, "Token"),
    h("p", {}, "This server asks for its bearer token (DISTSIM_API_TOKEN). It is kept in this tab until it is closed."),
    says,
    h(
      "form",
      {
        on: {
          submit: async (event) => {
            event.preventDefault();
            setToken(input.value.trim());
            try {
              await get("/api/v1/simulations?limit=1");
              dialog.close();
              show();
            } catch (error) {
              fill(says, notice("error", error.status === 401 ? "That is not the token." : error.message));
              input.select();
            }
          },
        },
      },
      h("label", { class: "field" }, h("span", { class: "field-name" }, "Token"), input),
      h(
        "div",
        { class: "row" },
        h("button", { type: "submit", class: "primary" }, "Use it"),
        button("Forget it", () => {
          setToken("");
          dialog.close();
        }),
      ),
    ),
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    showTokenButton();
  });
  document.body.append(dialog);
  dialog.showModal();
}

function showTokenButton() {
  const place = document.getElementById("token");
  fill(place, token() ? button("Token", () => tokenForm("")) : null);
}

function look() {
  const place = document.getElementById("look");
  const now = LOOKS.includes(localStorage.getItem(LOOK)) ? localStorage.getItem(LOOK) : "system";
  document.documentElement.dataset.look = now;
  fill(
    place,
    button(`Look: ${now}`, () => {
      localStorage.setItem(LOOK, LOOKS[(LOOKS.indexOf(now) + 1) % LOOKS.length]);
      look();
      place.querySelector("button").focus();
      announce(`Look: ${localStorage.getItem(LOOK)}`);
    }),
  );
}

document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says which view stands here
  main.focus();
});
window.addEventListener("hashchange", show);
window.addEventListener("distsim:unauthorized", () => {
  if (document.querySelector("dialog.token") === null)
    tokenForm(token() ? "The token is not (or no longer) the right one." : "");
});
look();
showTokenButton();
show();
