// References to calls, with which feedback refers to a completion: `<scheme>:///<entity>/<project>/call/<request id>`,
// with `/attr/choices/index/<i>` appended for one of several choices. Only this module writes and parses them; the
// grammar of all references is in judge/feedback.
import { parseProjectId } from "../project.ts";
import type { CompletionKey } from "./completion-key.ts";

/** Scheme of the references that this server writes. When parsing, any scheme is accepted. */
const scheme = "hone";

/** A completion, or one of its choices. */
export interface CompletionPart extends CompletionKey {
  /** Index of the choice; null for the whole completion. */
  readonly choice: number | null;
}

export function callReference({ projectId, requestId }: CompletionKey, choice: number | null = null): string {
  const part = choice === null ? "" : `/attr/choices/index/${choice}`;
  return `${scheme}:///${projectId}/call/${callIdOf(requestId)}${part}`;
}

/** Encodes a request id for references: percent-encodes everything except letters, digits and `_.-~`. */
export function callIdOf(requestId: string): string {
  if (/^[\w.~-]*$/.test(requestId)) return requestId;
  // Unpaired surrogates have no percent-encoding, so `Buffer` replaces them first.
  return encodeURIComponent(Buffer.from(requestId).toString()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const callPattern = /^[^:/]+:\/\/\/([^/]+\/[^/]+)\/call\/([^/]+)(\/.*)?$/s;
const choicePattern = /^\/attr\/choices\/index\/(\d{1,9})(?:\/|$)/;

/**
 * Parses a reference.
 *
 * @returns null unless it is a reference of a call
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

/** Decodes percent-encoding; returns null if it is malformed. */
export function percentDecoded(text: string): string | null {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
