// Finds the id of the file that a request names: the id itself, or the URL of a file on this server. The server never
// fetches a URL, because it may have access to resources that the sender of the URL must not read.
import { isUuid } from "../../../base/domain/random.ts";

const idPrefix = "file-";

/** Returns the normalized id of a file; null if the text cannot be a file's id. */
export function fileIdOf(text: string): string | null {
  const id = text.toLowerCase();
  return id.startsWith(idPrefix) && isUuid(id.slice(idPrefix.length)) ? id : null;
}

/**
 * Returns the id of the file that a request names. A request may contain the id itself, `hone-file://<id>`, or the
 * file's URL on this server.
 *
 * @param host host name under which the request reached this server; null if unknown
 * @returns null for any other text
 */
export function fileIdIn(text: string, host: string | null): string | null {
  const scheme = "hone-file://";
  const id = text.toLowerCase().startsWith(scheme) ? text.slice(scheme.length) : text;
  return fileIdOf(id) ?? fileIdAt(text, host);
}

function fileIdAt(text: string, host: string | null): string | null {
  if (host === null || !URL.canParse(text)) return null;
  const { host: named, pathname } = new URL(text);
  if (named !== host.toLowerCase()) return null;
  const match = /^\/v1\/files\/([^/]+)(?:\/content)?$/.exec(pathname);
  return match === null ? null : fileIdOf(match[1]);
}
