// Objects and ops that clients of traces publish under a name, and the contract of their store. Each distinct content
// of a name is a version, identified by its digest.

export type ObjectKind = "object" | "op";

/** A version of an object, as published. */
export interface ObjectDraft {
  readonly projectId: string;
  readonly kind: ObjectKind;
  readonly name: string;
  /** Digest of the value; distinguishes the versions of a name. */
  readonly digest: string;
  /** Value as JSON, in the form over which the digest was computed. */
  readonly value: string;
  /** Root of the object's class hierarchy, such as `AnnotationSpec`; null if the object has no class. */
  readonly baseClass: string | null;
  readonly leafClass: string | null;
  readonly createdAt: Date;
  /** Owner of the key that published it. */
  readonly createdBy: string;
}

export interface PublishedObject extends ObjectDraft {
  /** Version number among the versions of the name, from 0. */
  readonly version: number;
  /** True for the newest version of the name. */
  readonly isLatest: boolean;
}

/** Selects a version by digest, by number, or as the newest. */
export type VersionName =
  | { readonly digest: string }
  | { readonly version: number }
  /** The newest version. */
  | "latest";

/** Parses the part of a reference after the colon: a digest, `v` and a version number, or `latest`. */
export function versionNamed(text: string): VersionName {
  if (text === "latest") return "latest";
  const match = /^v(\d{1,9})$/.exec(text);
  return match === null ? { digest: text } : { version: Number(match[1]) };
}

export interface ObjectFilter {
  /** Kind of object; null matches both. */
  readonly kind: ObjectKind | null;
  /** Names to include; null matches all. */
  readonly names: readonly string[] | null;
  readonly baseClasses: readonly string[] | null;
  readonly leafClasses: readonly string[] | null;
  readonly latestOnly: boolean;
}

/** Part of a list, in the list's order. */
export interface Slice {
  readonly limit: number;
  /** Number of items to skip. */
  readonly offset: number;
  /** Maximum total size of the content in bytes; at least one item is returned. */
  readonly bytesMax?: number;
}

export interface ObjectOrder {
  readonly by: "name" | "createdAt";
  readonly isDescending: boolean;
}

export interface ObjectStore {
  /**
   * Stores an object and returns the stored version; durable when it resolves. Idempotent: if the name already has a
   * version with this content, nothing is added.
   */
  create(draft: ObjectDraft): Promise<PublishedObject>;
  /** @param wanted.kind kind of object; with null, the newest object of either kind */
  find(
    projectId: string,
    wanted: { readonly kind: ObjectKind | null; readonly name: string; readonly version: VersionName },
  ): Promise<PublishedObject | null>;
  /** Returns objects ordered by name and version, or by time; limited in items and bytes. */
  list(
    projectId: string,
    filter: ObjectFilter,
    slice: Slice & { readonly order?: ObjectOrder },
  ): Promise<readonly PublishedObject[]>;
  /**
   * Deletes the versions of a name with these digests, or all if `digests` is null. Returns the number of deleted
   * versions.
   */
  delete(projectId: string, name: string, digests: readonly string[] | null): Promise<number>;
}
