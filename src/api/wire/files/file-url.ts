// The ways to say which file of this server is meant. Nothing is ever fetched from an address: what a server reads for
// others could be what only it may see.
import { isUuid } from "../../../base/domain/random.ts";

const idPrefix = "file-";

/** The id of a file in its one spelling; null for what can be none. */
export function fileIdOf(text: string): string | null {
  const id = text.toLowerCase();
  return id.startsWith(idPrefix) && isUuid(id.slice(idPrefix.length)) ? id : null;
}

/**
 * The id of the file that a request names: by the id itself, as `hone-file://<id>`, or by its address on this server.
 *
 * @param host under which the request reached this server; null where it did not say
 * @returns null where it is none of these
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
