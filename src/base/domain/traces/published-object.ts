// Objects and ops that Weave clients publish under a name, and the contract of their store. Each different content
// under a name is a version, which is identified by the digest of the content.

export type ObjectKind = "object" | "op";

/** A version of an object or op that a client publishes. */
export interface ObjectDraft {
  readonly projectId: string;
  readonly kind: ObjectKind;
  readonly name: string;
  /** Digest of the value. It distinguishes the versions under one name. */
  readonly digest: string;
  /** Value as JSON text, in the form from which the digest was computed. */
  readonly value: string;
  /** Root of the class hierarchy of the object, such as `AnnotationSpec`; null if the object has no class. */
  readonly baseClass: string | null;
  readonly leafClass: string | null;
  readonly createdAt: Date;
  /** Owner of the key that published the version. */
  readonly createdBy: string;
}

export interface PublishedObject extends ObjectDraft {
  /** Number of the version, counted from 0 for each name. */
  readonly version: number;
  /** True for the newest version of the name. */
  readonly isLatest: boolean;
}

/** Selects one version of an object: by its digest, by its number, or as the newest. */
export type VersionName =
  | { readonly digest: string }
  | { readonly version: number }
  /** The newest version. */
  | "latest";

/** Parses the part of a reference after the colon: a digest, a `v` with a version number, or `latest`. */
export function versionNamed(text: string): VersionName {
  if (text === "latest") return "latest";
  const match = /^v(\d{1,9})$/.exec(text);
  return match === null ? { digest: text } : { version: Number(match[1]) };
}

export interface ObjectFilter {
  /** Kind to include; null for both kinds. */
  readonly kind: ObjectKind | null;
  /** Names of the objects to include; null to include all objects. */
  readonly names: readonly string[] | null;
  readonly baseClasses: readonly string[] | null;
  readonly leafClasses: readonly string[] | null;
  readonly latestOnly: boolean;
}

/** Selects a part of a list, in the list's order. */
export interface Slice {
  readonly limit: number;
  /** Number of items of the list to skip. */
  readonly offset: number;
  /** Maximum total size of the items in bytes; at least one item is returned. */
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
  /**
   * Finds a version of an object; null if there is none.
   *
   * @param wanted.kind kind of the object; with null, the newest object of either kind
   */
  find(
    projectId: string,
    wanted: { readonly kind: ObjectKind | null; readonly name: string; readonly version: VersionName },
  ): Promise<PublishedObject | null>;
  /**
   * Returns objects that match the filter, ordered by name and version, or by time. Their number and bytes are limited.
   */
  list(
    projectId: string,
    filter: ObjectFilter,
    slice: Slice & { readonly order?: ObjectOrder },
  ): Promise<readonly PublishedObject[]>;
  /**
   * Deletes those versions of a name that have these digests, or all versions of the name if `digests` is null. Returns
   * the number of deleted versions.
   */
  delete(projectId: string, name: string, digests: readonly string[] | null): Promise<number>;
}
