// Recognizes plain files, because only these may be opened. Reading a named pipe blocks until something is written to
// it, and a device may be endless. Pure: the caller stats the path.
import { invalid } from "../service-error.ts";

/** The methods of Node's `Stats` that tell the kind of a path. */
export interface PathKind {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
  isFIFO(): boolean;
  isSocket(): boolean;
}

/** Returns the kind of a path for a message, such as `a folder`; null for a plain file. */
export function otherThanFile(found: PathKind): string | null {
  if (found.isFile()) return null;
  if (found.isDirectory()) return "a folder";
  if (found.isSymbolicLink()) return "a symbolic link";
  if (found.isFIFO()) return "a named pipe";
  return found.isSocket() ? "a socket" : "a device";
}

/**
 * Refuses to open a path that is not a plain file.
 *
 * @throws ServiceError `invalid`, with the path in the message
 */
export function requirePlainFile(path: string, found: PathKind): void {
  const kind = otherThanFile(found);
  if (kind === null) return;
  const message = `${path} is ${kind}, where a plain file should be. It was not opened. Put the file itself there.`;
  throw invalid(message);
}
