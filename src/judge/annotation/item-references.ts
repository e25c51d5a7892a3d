// Parses the items that callers add to a queue. A caller identifies each item by the id of a call, or by a complete
// reference.
import { callIdOf, callReference } from "../../base/domain/recordings/call-reference.ts";
import type { ItemDraft } from "../../base/domain/annotation/queue.ts";
import { type Fault, quoted, ServiceError } from "../../base/domain/service-error.ts";
import { parseReference } from "../feedback/references.ts";
import { textFaults } from "./check-content.ts";

/**
 * Returns the ids, among those given, under which the project has recorded completions. The items for these ids get
 * references with this server's own scheme; items for all other ids get `weave:` references.
 */
export type FindRecorded = (projectId: string, callIds: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Returns the items for the given ids of calls and for the given references. A reference must refer to a call, object
 * or op of the project.
 *
 * @throws ServiceError `invalid` with every invalid id
 */
export async function draftsOf(
  projectId: string,
  callIds: readonly string[],
  findRecorded: FindRecorded,
): Promise<readonly ItemDraft[]> {
  const faults = callIds.flatMap((id, index) => idFaults(id, projectId, ["callIds", String(index)]));
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
  const recorded = await findRecorded(projectId, callIds.filter((id) => !isReference(id)).map(requestIdOf));
  return callIds.map((id) => {
    if (isReference(id)) return draftOf(id) ?? { vendorRef: id, callId: id };
    const requestId = requestIdOf(id);
    if (recorded.has(requestId))
      return { vendorRef: callReference({ projectId, requestId }), callId: callIdOf(requestId) };
    return { vendorRef: `weave:///${projectId}/call/${callIdOf(id)}`, callId: callIdOf(id) };
  });
}

/**
 * Returns the id under which a chat completion is recorded, given the id from its response. Returns other ids
 * unchanged.
 */
function requestIdOf(id: string): string {
  return id.replace(/^chatcmpl-/, "");
}

/** Returns the item for a reference; null if the reference is invalid. */
export function draftOf(reference: string): ItemDraft | null {
  const parsed = parseReference(reference);
  if (!parsed.isValid) return null;
  const { reference: of } = parsed;
  return { vendorRef: reference, callId: of.kind === "call" ? of.id : `${of.name}:${of.digest}` };
}

function idFaults(id: string, projectId: string, location: readonly string[]): readonly Fault[] {
  const wrong = textFaults(location, id, 2048);
  if (wrong.length > 0) return wrong;
  if (!isReference(id)) return [];
  const parsed = parseReference(id);
  const reason = parsed.isValid ? `it is not of the project ${quoted(projectId)}` : parsed.reason;
  if (parsed.isValid && `${parsed.reference.entity}/${parsed.reference.project}` === projectId) return [];
  const message = `${quoted(id)} cannot be an item of the queue: ${reason}`;
  return [{ location, message, type: "value_error" }];
}

function isReference(id: string): boolean {
  return id.includes(":///");
}
