// References to calls, with which feedback refers to a completion: `<scheme>:///<entity>/<project>/call/<request id>`.
// For one of several choices, `/attr/choices/index/<i>` follows. Only this module writes and parses them; the grammar
// of all references is in judge/feedback.
import { parseProjectId } from "../project.ts";
import type { CompletionKey } from "./completion-key.ts";

/** Scheme of references that this server writes. References with any scheme are parsed. */
const scheme = "hone";

/** A completion as a whole, or one of its choices. */
export interface CompletionPart extends CompletionKey {
  /** Index of the choice; null for the whole completion. */
  readonly choice: number | null;
}

export function callReference({ projectId, requestId }: CompletionKey, choice: number | null = null): string {
  const part = choice === null ? "" : `/attr/choices/index/${choice}`;
  return `${scheme}:///${projectId}/call/${callIdOf(requestId)}${part}`;
}

/** Encodes a request id for use in a reference. Percent-encodes all characters except letters, digits and `_.-~`. */
export function callIdOf(requestId: string): string {
  if (/^[\w.~-]*$/.test(requestId)) return requestId;
  // `Buffer` replaces unpaired surrogates, for which `encodeURIComponent` would throw.
  return encodeURIComponent(Buffer.from(requestId).toString()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const callPattern = /^[^:/]+:\/\/\/([^/]+\/[^/]+)\/call\/([^/]+)(\/.*)?$/s;
const choicePattern = /^\/attr\/choices\/index\/(\d{1,9})(?:\/|$)/;

/**
 * Parses a reference to a call.
 *
 * @returns null for any other text
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

/** Decodes a percent-encoded text; returns null if the text is malformed. */
export function percentDecoded(text: string): string | null {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
