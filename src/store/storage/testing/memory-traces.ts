// For tests: tables, files and calls of traces in memory.
import { fittingCount, pageBytesMax } from "../../../base/domain/page.ts";
import { notFound, ServiceError } from "../../../base/domain/service-error.ts";
import type { TraceStore } from "../../../base/domain/traces/trace-store.ts";
import type { CallFilter, CallPart, CallStore, TracedCall } from "../../../base/domain/traces/traced-call.ts";
import { noRoomMessage, type TracedFileStore } from "../../../base/domain/traces/traced-file.ts";
import type { TableStore } from "../../../base/domain/traces/traced-table.ts";
import type { Exclusively, Tables } from "./memory-tables.ts";

export function memoryTraces(exclusively: Exclusively): TraceStore {
  return {
    tables: memoryTables(exclusively),
    files: memoryTracedFiles(exclusively),
    calls: memoryCalls(exclusively),
    deleteProject: (projectId) =>
      exclusively((tables) => {
        const stays = (one: { readonly projectId: string }) => one.projectId !== projectId;
        const gone = tables.tracedFiles.filter((file) => !stays(file));
        tables.tracedFiles = tables.tracedFiles.filter(stays);
        tables.tracedTables = tables.tracedTables.filter(stays);
        tables.objects = tables.objects.filter(stays);
        const ofOthers = <Value>(map: ReadonlyMap<string, Value>) =>
          new Map([...map].filter(([key]) => !key.startsWith(`["${projectId}",`)));
        tables.publishedCounts = ofOthers(tables.publishedCounts);
        tables.tracedCalls = ofOthers(tables.tracedCalls);
        return gone.map(({ fileId }) => fileId);
      }),
  };
}

function memoryTables(exclusively: Exclusively): TableStore {
  const find = ({ tracedTables }: Tables, projectId: string, digest: string) =>
    tracedTables.find((table) => table.projectId === projectId && table.digest === digest);
  return {
    create: ({ projectId, digest }, rows) =>
      exclusively((tables) => {
        if (find(tables, projectId, digest) !== undefined) return;
        tables.tracedTables = [...tables.tracedTables, { projectId, digest, rows: [...rows] }];
      }),
    createOf: ({ projectId, digest }, rowDigests) =>
      exclusively((tables) => {
        if (find(tables, projectId, digest) !== undefined) return;
        const own = tables.tracedTables.filter((table) => table.projectId === projectId);
        const known = new Map(own.flatMap((table) => table.rows.map((row) => [row.digest, row])));
        const rows = [...rowDigests].map((rowDigest) => {
          const row = known.get(rowDigest);
          if (row === undefined) throw notFound("row of a table", rowDigest);
          return row;
        });
        tables.tracedTables = [...tables.tracedTables, { projectId, digest, rows }];
      }),
    count: (projectId, digest) =>
      exclusively((tables) => find(tables, projectId, digest)?.rows.length ?? null),
    rows: (projectId, digest, rowDigests, { limit, offset, bytesMax = pageBytesMax }) =>
      exclusively((tables) => {
        const indexed = (find(tables, projectId, digest)?.rows ?? []).map((row, index) => ({
          ...row,
          index,
        }));
        const listed = indexed
          .filter((row) => rowDigests?.includes(row.digest) ?? true)
          .slice(offset, offset + limit);
        const sizes = listed.map(({ value }) => Buffer.byteLength(value));
        return listed.slice(0, fittingCount(sizes, bytesMax));
      }),
  };
}

function memoryTracedFiles(exclusively: Exclusively): TracedFileStore {
  const find = ({ tracedFiles }: Tables, projectId: string, digest: string) =>
    tracedFiles.find((file) => file.projectId === projectId && file.digest === digest);
  return {
    create: (file, entityBytesMax) =>
      exclusively((tables) => {
        const known = find(tables, file.projectId, file.digest);
        if (known !== undefined) return known;
        const used = tables.tracedFiles
          .filter(({ entity }) => entity === file.entity)
          .reduce((sum, { byteCount }) => sum + byteCount, 0);
        if (used + file.byteCount > entityBytesMax) {
          const message = noRoomMessage(file.byteCount, used, entityBytesMax);
          throw new ServiceError({ code: "too_large", message });
        }
        tables.tracedFiles = [...tables.tracedFiles, file];
        return file;
      }),
    find: (projectId, digest) => exclusively((tables) => find(tables, projectId, digest) ?? null),
    isKnown: (fileId) => exclusively(({ tracedFiles }) => tracedFiles.some((file) => file.fileId === fileId)),
  };
}

function memoryCalls(exclusively: Exclusively): CallStore {
  return {
    write: (parts) =>
      exclusively((tables) => {
        const calls = new Map(tables.tracedCalls);
        const known = (key: string): CallPart => calls.get(key) ?? { start: null, end: null };
        for (const { start, end } of parts) {
          const [first, last] = [start, end].map((part) =>
            part === null ? "" : keyOf(part.projectId, part.id),
          );
          if (start !== null) calls.set(first, { ...known(first), start });
          if (end !== null) calls.set(last, { ...known(last), end });
        }
        tables.tracedCalls = calls;
      }),
    list: (projectId, filter, { limit, offset, bytesMax = pageBytesMax, isDescending, after }) =>
      exclusively((tables) => {
        const rising = callsOf(tables, projectId, filter).sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
        const inOrder = isDescending ? rising.toReversed() : rising;
        const isBehind = (call: TracedCall): boolean =>
          !after || (isDescending ? orderOf(call) < orderOf(after) : orderOf(call) > orderOf(after));
        const listed = inOrder.filter(isBehind).slice(offset, offset + limit);
        return listed.slice(0, fittingCount(listed.map(contentBytes), bytesMax));
      }),
    count: (projectId, filter) => exclusively((tables) => callsOf(tables, projectId, filter).length),
    delete: (projectId, ids) =>
      exclusively((tables) => {
        const calls = new Map(tables.tracedCalls);
        const count = [...new Set(ids)].filter((id) => calls.delete(keyOf(projectId, id))).length;
        tables.tracedCalls = calls;
        return count;
      }),
  };
}

function keyOf(projectId: string, id: string): string {
  return JSON.stringify([projectId, id]);
}

const orderOf = ({ startedAt, id }: Pick<TracedCall, "startedAt" | "id">): string => `${startedAt}\0${id}`;

function contentBytes({ about, attributes, inputs, end }: TracedCall): number {
  const texts = [about, attributes, inputs, ...(end === null ? [] : [end.ending, end.output, end.summary])];
  return Buffer.byteLength(texts.join(""));
}

function callsOf(tables: Tables, projectId: string, filter: CallFilter): TracedCall[] {
  const callOf = ({ start, end }: CallPart): readonly TracedCall[] =>
    start === null ? [] : [{ ...start, end }];
  return [...tables.tracedCalls.values()]
    .flatMap(callOf)
    .filter((call) => call.projectId === projectId && passes(call, filter));
}

function passes(call: TracedCall, { opNames, ids, traceIds, parentIds, rootsOnly }: CallFilter): boolean {
  const isAmong = (values: readonly string[] | null, value: string | null) =>
    values === null || (value !== null && values.includes(value));
  const isOp = (name: string) =>
    name.endsWith(":*") ? call.opName.startsWith(name.slice(0, -1)) : call.opName === name;
  return (
    (opNames === null || opNames.some(isOp)) &&
    isAmong(ids, call.id) &&
    isAmong(traceIds, call.traceId) &&
    isAmong(parentIds, call.parentId) &&
    (!rootsOnly || call.parentId === null)
  );
}
