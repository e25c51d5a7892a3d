// Finds the value to which a reference refers: a published object, a part of an object, or a row of a table to which an
// object refers.
import type { Caller } from "../../base/domain/access.ts";
import { mayReach } from "../../base/domain/access.ts";
import { invalid, notFound, quoted } from "../../base/domain/service-error.ts";
import type { TableStore } from "../../base/domain/traces/traced-table.ts";
import { parseReference, type ReferenceEdge } from "../feedback/references.ts";
import { jsonPart, type PartStep } from "./json-part.ts";
import type { ObjectService } from "./object-service.ts";

export interface ReferenceDependencies {
  readonly objects: Pick<ObjectService, "read">;
  readonly tables: TableStore;
}

/** The value to which a reference refers. */
export interface ReferredValue {
  /** JSON of the value; null if the object has no part at the reference's path. */
  readonly text: string | null;
  /**
   * Number of JSON characters that were read to find the value. The number exceeds the value's own length if the value
   * is only a part of the object.
   */
  readonly readLength: number;
}

/**
 * Finds the value to which a reference refers.
 *
 * @throws ServiceError `invalid` if it is not a reference to an object or an op; `forbidden`, `not_found`
 */
export type ReadReference = (text: string, caller: Caller) => Promise<ReferredValue>;

export function createReferenceReader({ objects, tables }: ReferenceDependencies): ReadReference {
  return async (text, caller) => {
    const parsed = parseReference(text);
    if (!parsed.isValid || parsed.reference.kind === "call") {
      const reason = parsed.isValid ? "calls are listed by POST /calls/stream_query" : parsed.reason;
      throw invalid(`The reference ${quoted(text)} is not read: ${reason}.`);
    }
    const { entity, project, kind, name, digest, edges } = parsed.reference;
    const projectId = `${entity}/${project}`;
    const object = await objects.read({ projectId, kind, name, version: digest }, caller);
    let whole = object.value;
    let readLength = whole.length;
    const steps: PartStep[] = [];
    for (const edge of edges) {
      if (edge.edge !== "id") {
        steps.push(stepOf(edge));
        continue;
      }
      const row = await rowOf(tables, jsonPart(whole, steps.splice(0)), edge.value, caller);
      if (row === null) return { text: null, readLength };
      whole = row;
      readLength += row.length;
    }
    return { text: jsonPart(whole, steps), readLength };
  };
}

function stepOf({ edge, value }: ReferenceEdge): PartStep {
  return edge === "index" ? { index: Number(value) } : { name: value };
}

const tablePattern = /^"[^:"]+:\/\/\/([^/"]+)\/([^/"]+)\/table\/([^/"]+)"$/;

/** Returns the row with this digest in the table to which a value refers; null if the table has no such row. */
async function rowOf(
  tables: TableStore,
  value: string | null,
  rowDigest: string,
  caller: Caller,
): Promise<string | null> {
  const match = tablePattern.exec(value ?? "");
  if (match === null) return null;
  const [, entity, project, digest] = match;
  if (!mayReach(caller, { entity, project })) throw notFound("table", digest);
  const [row] = await tables.rows(`${entity}/${project}`, digest, [rowDigest], { limit: 1, offset: 0 });
  return row?.value ?? null;
}
