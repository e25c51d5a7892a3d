// Objects and ops that clients of traces publish under a name: each distinct content is a version, named by its
// digest. Also the contract of their store.

export type ObjectKind = "object" | "op";

/** A version of an object, as published. */
export interface ObjectDraft {
  readonly projectId: string;
  readonly kind: ObjectKind;
  readonly name: string;
  /** Digest of the value; distinguishes the versions of a name. */
  readonly digest: string;
  /** JSON, in the form that is digested. */
  readonly value: string;
  /** Root of the object's class hierarchy, such as `AnnotationSpec`; null if the object has no class. */
  readonly baseClass: string | null;
  readonly leafClass: string | null;
  readonly createdAt: Date;
  /** Owner of the key that published it. */
  readonly createdBy: string;
}

export interface PublishedObject extends ObjectDraft {
  /** Counts from 0 among the versions of the name. */
  readonly version: number;
  /** True for the newest version of the name. */
  readonly isLatest: boolean;
}

/** Selector of a version. */
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
  /** Null matches both kinds. */
  readonly kind: ObjectKind | null;
  /** Only these names; null matches all. */
  readonly names: readonly string[] | null;
  readonly baseClasses: readonly string[] | null;
  readonly leafClasses: readonly string[] | null;
  readonly latestOnly: boolean;
}

/** Slice of a list in its order. */
export interface Slice {
  readonly limit: number;
  /** Number of items to skip. */
  readonly offset: number;
  /** Maximum bytes of content; at least one item is returned. */
  readonly bytesMax?: number;
}

export interface ObjectOrder {
  readonly by: "name" | "createdAt";
  readonly isDescending: boolean;
}

export interface ObjectStore {
  /**
   * Durable when it resolves. Publishing the same content under the same name again adds nothing. Returns the stored
   * version.
   */
  create(draft: ObjectDraft): Promise<PublishedObject>;
  /** @param wanted.kind null for either; if both match, the newest */
  find(
    projectId: string,
    wanted: { readonly kind: ObjectKind | null; readonly name: string; readonly version: VersionName },
  ): Promise<PublishedObject | null>;
  /** Returns objects by name and version, or by time; bounded in items and bytes. */
  list(
    projectId: string,
    filter: ObjectFilter,
    slice: Slice & { readonly order?: ObjectOrder },
  ): Promise<readonly PublishedObject[]>;
  /** Deletes versions of a name, all if `digests` is null; returns how many. */
  delete(projectId: string, name: string, digests: readonly string[] | null): Promise<number>;
}
