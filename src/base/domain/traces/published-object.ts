// Objects and ops that clients of traces publish under a name: every different content is a version, named by its digest.
// Also the contract of whoever stores them.

export type ObjectKind = "object" | "op";

/** A version of an object, as it is published. */
export interface ObjectDraft {
  readonly projectId: string;
  readonly kind: ObjectKind;
  readonly name: string;
  /** Of the value; what makes two versions of one name different. */
  readonly digest: string;
  /** JSON, in the form that the digest is taken of. */
  readonly value: string;
  /** The class that the object's own class goes back to, such as `AnnotationSpec`; null for what has no class. */
  readonly baseClass: string | null;
  readonly leafClass: string | null;
  readonly createdAt: Date;
  /** The owner of the key that published it. */
  readonly createdBy: string;
}

export interface PublishedObject extends ObjectDraft {
  /** Counts from 0 among the versions of the name. */
  readonly version: number;
  /** Whether no version of the name is newer. */
  readonly isLatest: boolean;
}

/** Which version of a name is meant. */
export type VersionName =
  | { readonly digest: string }
  | { readonly version: number }
  /** The newest. */
  | "latest";

/** What clients write behind the colon of a reference: a digest, `v` and a version's number, or `latest`. */
export function versionNamed(text: string): VersionName {
  if (text === "latest") return "latest";
  const match = /^v(\d{1,9})$/.exec(text);
  return match === null ? { digest: text } : { version: Number(match[1]) };
}

export interface ObjectFilter {
  /** Null lets both through. */
  readonly kind: ObjectKind | null;
  /** Those of these names alone; null lets all through. */
  readonly names: readonly string[] | null;
  readonly baseClasses: readonly string[] | null;
  readonly leafClasses: readonly string[] | null;
  readonly latestOnly: boolean;
}

/** A part of a list in its order. */
export interface Slice {
  readonly limit: number;
  /** How many are passed over. */
  readonly offset: number;
  /** Most bytes of content; at least one item comes, whatever its size. */
  readonly bytesMax?: number;
}

export interface ObjectOrder {
  readonly by: "name" | "createdAt";
  readonly isDescending: boolean;
}

export interface ObjectStore {
  /** Durable when it resolves; the same content under the same name again adds nothing. Returns the version as it is stored. */
  create(draft: ObjectDraft): Promise<PublishedObject>;
  /** @param wanted.kind null for either; the newest where both have it */
  find(
    projectId: string,
    wanted: { readonly kind: ObjectKind | null; readonly name: string; readonly version: VersionName },
  ): Promise<PublishedObject | null>;
  /** By name and version, or by time; bounded in items and in bytes. */
  list(
    projectId: string,
    filter: ObjectFilter,
    slice: Slice & { readonly order?: ObjectOrder },
  ): Promise<readonly PublishedObject[]>;
  /** Removes versions of a name, all of them where `digests` is null; returns how many there were. */
  delete(projectId: string, name: string, digests: readonly string[] | null): Promise<number>;
}
