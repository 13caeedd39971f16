// Files of a run: by the signed links that the server gives, which work without the token.

import { download, get, post, query } from "./api.js";

/** Downloads a result file as it is. */
export async function fetchFile(run, name) {
  const found = await get(`${run.api}/results/download-url${query({ fileName: name })}`);
  download(found.downloadUrl, name.split("/").pop());
}

/** Downloads a record, its shards merged. form: "csv", "parquet" or "json". */
export async function exportRecord(run, record, form) {
  const found = await post(`${run.page}/records/${record}/export${query({ format: form })}`);
  download(found.downloadUrl, found.fileName);
}
