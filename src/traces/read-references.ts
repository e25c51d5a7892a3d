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

/** What a reference leads to. */
export interface ReferredValue {
  /** JSON; null where a part of an object is not there. */
  readonly text: string | null;
  /** Characters of JSON that were read for it, of which it may be a part. */
  readonly readLength: number;
}

/**
 * Reads what a reference leads to.
 *
 * @throws ServiceError `invalid` for what is no reference to an object or an op; `too_large` for a part of a large object,
 *   which would be parsed while others wait; `forbidden`, `not_found`
 */
export type ReadReference = (text: string, caller: Caller) => Promise<ReferredValue>;

/** Of an object of which parts are read, in characters: some 50 ms. */
const partedLengthMax = 1 << 18;

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
    const readLength = object.value.length;
    if (edges.length === 0) return { text: object.value, readLength };
    if (readLength > partedLengthMax) throw tooLarge(readLength);
    let value: ExactJson | undefined = parseExactJson(object.value);
    for (const edge of edges) {
      value = edge.edge === "id" ? await rowOf(tables, value, edge.value, caller) : memberOf(value, edge);
      if (value === undefined) return { text: null, readLength };
    }
    const part = exactJsonText(value);
    // A row lies outside of the object, and may be larger.
    return { text: part, readLength: Math.max(readLength, part.length) };
  };
}

function tooLarge(length: number): ServiceError {
  const message = `The object has ${length} characters of JSON; parts are read of at most ${partedLengthMax}. Read it whole, and take the part of that.`;
  return new ServiceError({ code: "too_large", message });
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
