// For tests: the object store in memory.
import { fittingCount, pageBytesMax } from "../../../base/domain/page.ts";
import type {
  ObjectFilter,
  ObjectStore,
  PublishedObject,
  VersionName,
} from "../../../base/domain/traces/published-object.ts";
import type { Exclusively, PublishedDraft, Tables } from "./memory-tables.ts";

export function memoryObjects(exclusively: Exclusively): ObjectStore {
  return {
    create: (draft) =>
      exclusively((tables) => {
        const isSame = (one: PublishedDraft) => isOfName(one, draft) && one.digest === draft.digest;
        if (!tables.objects.some(isSame)) {
          const key = nameKey(draft);
          const version = tables.publishedCounts.get(key) ?? 0;
          tables.publishedCounts = new Map([...tables.publishedCounts, [key, version + 1]]);
          tables.objects = [...tables.objects, { ...draft, version }];
        }
        return shown(tables, tables.objects.filter(isSame)[0]);
      }),
    find: (projectId, { kind, name, version }) =>
      exclusively((tables) => {
        const [found] = tables.objects
          .filter(
            (one) => one.projectId === projectId && one.name === name && one.kind === (kind ?? one.kind),
          )
          .filter((one) => isVersion(one, version))
          .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || b.version - a.version);
        return found === undefined ? null : shown(tables, found);
      }),
    list: (projectId, filter, { limit, offset, bytesMax = pageBytesMax, order }) =>
      exclusively((tables) => {
        const all = tables.objects
          .filter((one) => one.projectId === projectId)
          .map((one) => shown(tables, one))
          .filter((one) => passes(one, filter));
        const text = ({ name, kind, version }: PublishedObject) => `${name}\0${kind}\0${1e9 + version}`;
        const byName = all.sort((a, b) => (text(a) < text(b) ? -1 : 1));
        const inOrder =
          order?.by === "createdAt"
            ? byName.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
            : byName;
        const listed = (order?.isDescending ? inOrder.toReversed() : inOrder).slice(offset, offset + limit);
        const sizes = listed.map(({ value }) => Buffer.byteLength(value));
        return listed.slice(0, fittingCount(sizes, bytesMax));
      }),
    delete: (projectId, name, digests) =>
      exclusively((tables) => {
        const goes = (one: PublishedDraft) =>
          one.projectId === projectId && one.name === name && (digests?.includes(one.digest) ?? true);
        const kept = tables.objects.filter((one) => !goes(one));
        const count = tables.objects.length - kept.length;
        tables.objects = kept;
        return count;
      }),
  };
}

type Named = Pick<PublishedDraft, "projectId" | "kind" | "name">;

function nameKey({ projectId, kind, name }: Named): string {
  return JSON.stringify([projectId, kind, name]);
}

function isOfName(one: Named, other: Named): boolean {
  return nameKey(one) === nameKey(other);
}

function isVersion(one: PublishedDraft, version: VersionName): boolean {
  if (version === "latest") return true;
  return "digest" in version ? one.digest === version.digest : one.version === version.version;
}

function shown(tables: Tables, one: PublishedDraft): PublishedObject {
  const newest = Math.max(
    ...tables.objects.filter((other) => isOfName(other, one)).map(({ version }) => version),
  );
  return { ...one, isLatest: one.version === newest };
}

function passes(one: PublishedObject, filter: ObjectFilter): boolean {
  const isAmong = (values: readonly string[] | null, value: string | null) =>
    values === null || (value !== null && values.includes(value));
  return (
    one.kind === (filter.kind ?? one.kind) &&
    isAmong(filter.names, one.name) &&
    isAmong(filter.baseClasses, one.baseClass) &&
    isAmong(filter.leafClasses, one.leafClass) &&
    (one.isLatest || !filter.latestOnly)
  );
}
