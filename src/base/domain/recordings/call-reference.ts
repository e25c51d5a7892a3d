// References of calls, which is what feedback on a completion names: `<scheme>:///<entity>/<project>/call/<request id>`, and
// with `/attr/choices/index/<i>` behind it one of several choices. Made and read here alone; the grammar of all references
// is that of feedback/.
import { parseProjectId } from "../project.ts";
import type { CompletionKey } from "./completion-key.ts";

/** Of the references that this server makes; it reads any. */
const scheme = "hone";

/** A completion, or one of its choices. */
export interface CompletionPart extends CompletionKey {
  /** Index of the choice; null for the whole. */
  readonly choice: number | null;
}

export function callReference({ projectId, requestId }: CompletionKey, choice: number | null = null): string {
  const part = choice === null ? "" : `/attr/choices/index/${choice}`;
  return `${scheme}:///${projectId}/call/${callIdOf(requestId)}${part}`;
}

/** A request's id as references have it: all but letters, digits and `_.-~` are percent-encoded. */
export function callIdOf(requestId: string): string {
  if (/^[\w.~-]*$/.test(requestId)) return requestId;
  // The two halves of a character apart have no encoding; others stand in their place.
  return encodeURIComponent(Buffer.from(requestId).toString()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const callPattern = /^[^:/]+:\/\/\/([^/]+\/[^/]+)\/call\/([^/]+)(\/.*)?$/s;
const choicePattern = /^\/attr\/choices\/index\/(\d{1,9})(?:\/|$)/;

/**
 * What a reference names.
 *
 * @returns null for what is no reference of a call
 */
export function readCallReference(reference: string): CompletionPart | null {
  const match = callPattern.exec(reference);
  if (match === null) return null;
  const [, projectId, callId, tail = ""] = match;
  const requestId = percentDecoded(callId);
  if (requestId === null || parseProjectId(projectId) === null) return null;
  const choice = choicePattern.exec(tail)?.[1];
  return { projectId, requestId, choice: choice === undefined ? null : Number(choice) };
}

/** Null if a percent sign encodes nothing. */
export function percentDecoded(text: string): string | null {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
