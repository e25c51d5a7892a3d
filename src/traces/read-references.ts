// What references of published things lead to: an object, a part of one, or a row of a table that it names.
import type { Caller } from "../domain/access.ts";
import { mayReach } from "../domain/access.ts";
import {
  exactJsonText,
  isExactList,
  isExactObject,
  parseExactJson,
  type ExactJson,
} from "../domain/text/exact-json.ts";
import { notFound, quoted, ServiceError } from "../domain/service-error.ts";
import type { TableStore } from "../domain/traces/traced-table.ts";
import { parseReference, type ReferenceEdge } from "../feedback/references.ts";
import type { ObjectService } from "./object-service.ts";

export interface ReferenceDependencies {
  readonly objects: Pick<ObjectService, "read">;
  readonly tables: TableStore;
}

/** Reads what a reference leads to; null where a part of an object is not there. */
export type ReadReference = (text: string, caller: Caller) => Promise<string | null>;

/**
 * Reads references, as JSON texts.
 *
 * @returns a function that throws `invalid` for what is no reference to an object or an op, `forbidden` and `not_found`
 */
export function createReferenceReader({ objects, tables }: ReferenceDependencies): ReadReference {
  return async (text, caller) => {
    const parsed = parseReference(text);
    if (!parsed.isValid || parsed.reference.kind === "call") {
      const reason = parsed.isValid ? "calls are listed by POST /calls/stream_query" : parsed.reason;
      throw new ServiceError({
        code: "invalid",
        message: `The reference ${quoted(text)} is not read: ${reason}.`,
      });
    }
    const { entity, project, kind, name, digest, edges } = parsed.reference;
    const projectId = `${entity}/${project}`;
    const object = await objects.read({ projectId, kind, name, version: digest }, caller);
    if (edges.length === 0) return object.value;
    let value: ExactJson | undefined = parseExactJson(object.value);
    for (const edge of edges) {
      value = edge.edge === "id" ? await rowOf(tables, value, edge.value, caller) : memberOf(value, edge);
      if (value === undefined) return null;
    }
    return exactJsonText(value);
  };
}

/** A member of an object, or an item of a list; undefined where there is none. */
function memberOf(value: ExactJson, { edge, value: name }: ReferenceEdge): ExactJson | undefined {
  if (edge === "index") return isExactList(value) ? value.at(Number(name)) : undefined;
  return isExactObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

const tablePattern = /^[^:]+:\/\/\/([^/]+)\/([^/]+)\/table\/([^/]+)$/;

/** The row with a digest in the table that a value refers to. */
async function rowOf(
  tables: TableStore,
  value: ExactJson,
  rowDigest: string,
  caller: Caller,
): Promise<ExactJson | undefined> {
  const match = typeof value === "string" ? tablePattern.exec(value) : null;
  if (match === null) return undefined;
  const [, entity, project, digest] = match;
  if (!mayReach(caller, entity)) throw notFound("table", digest);
  const [row] = await tables.rows(`${entity}/${project}`, digest, [rowDigest], { limit: 1, offset: 0 });
  return row === undefined ? undefined : parseExactJson(row.value);
}
