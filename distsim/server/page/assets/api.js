// Calls to the server. The bearer token, where one is needed, is kept in sessionStorage: this tab, until it is closed.

const KEY = "distsim.token";

/** An answer that is an error. status: of HTTP, 0 when the server was not reached. body: what it said. */
export class ApiError extends Error {
  constructor(message, status, body = null) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.body = body;
  }
}

/** The token of this tab, "" when there is none. */
export function token() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** Sets the token, or forgets it when it is empty. */
export function setToken(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

/** Query parameters as text: lists are repeated, empty ones left out. */
export function query(parameters) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== "" && one !== null && one !== undefined) found.append(name, String(one));
    }
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}

/** GET of JSON. options: signal. */
export function get(path, options = {}) {
  return call("GET", path, options);
}

/** POST of JSON. */
export function post(path, body, options = {}) {
  return call("POST", path, { ...options, body });
}

/** DELETE. */
export function remove(path, options = {}) {
  return call("DELETE", path, options);
}

async function call(method, path, { body, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (token()) headers.Authorization = `Bearer ${token()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetched(path, {
    method,
    headers,
    signal,
    cache: "no-store",
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const found = await bodyOf(answer);
  if (answer.ok) return found;
  if (answer.status === 401) window.dispatchEvent(new CustomEvent("distsim:unauthorized"));
  throw new ApiError(messageOf(found, answer), answer.status, found);
}

async function fetched(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer. Is distsim serve still running?", 0);
  }
}

async function bodyOf(answer) {
  if (answer.status === 204) return null;
  const text = await answer.text();
  if (!(answer.headers.get("content-type") ?? "").includes("json")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function messageOf(body, answer) {
  const said = body?.error?.message ?? body?.message ?? body?.detail;
  if (typeof said === "string" && said) return said;
  return `${answer.status} ${answer.statusText}`.trim();
}

/** Lets the browser fetch a link of the server's as a file. */
export function download(url, name) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

/** Gives the browser a text as a file. */
export function saveText(text, name, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  download(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
