// Service that publishes, reads, lists and deletes objects. It checks access, and finds the version that a name refers
// to.
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { reachProject } from "../../base/domain/project.ts";
import { notFound, quoted, ServiceError } from "../../base/domain/service-error.ts";
import {
  versionNamed,
  type ObjectDraft,
  type ObjectFilter,
  type ObjectKind,
  type ObjectStore,
  type PublishedObject,
} from "../../base/domain/traces/published-object.ts";

/** An object that a client publishes, parsed from its request. */
export interface ObjectInput extends Omit<ObjectDraft, "createdAt" | "createdBy"> {
  /** Digest that the client computed in advance; null if the client did not compute one. */
  readonly expectedDigest: string | null;
}

export interface ObjectService {
  /**
   * Stores the content as a new version of the object with the given name. Content that equals an existing version adds
   * no version.
   *
   * @throws ServiceError `invalid`, `forbidden`; `conflict` if the digest differs from the client's
   */
  publish(input: ObjectInput, caller: Caller): Promise<PublishedObject>;
  /**
   * Returns a version of an object.
   *
   * @param version a digest, a version number such as `v0`, or `latest`
   * @throws ServiceError `invalid`, `forbidden`, `not_found`
   */
  read(
    wanted: {
      readonly projectId: string;
      readonly kind: ObjectKind | null;
      readonly name: string;
      readonly version: string;
    },
    caller: Caller,
  ): Promise<PublishedObject>;
  /**
   * Lists the objects of a project that match a filter.
   *
   * @throws ServiceError `invalid`, `forbidden`
   */
  list(
    projectId: string,
    filter: ObjectFilter,
    slice: Parameters<ObjectStore["list"]>[2],
    caller: Caller,
  ): Promise<readonly PublishedObject[]>;
  /**
   * Deletes versions of an object permanently, and returns their number.
   *
   * @throws ServiceError `invalid`, `forbidden`, `not_found`
   */
  delete(projectId: string, name: string, digests: readonly string[] | null, caller: Caller): Promise<number>;
}

export interface ObjectDependencies {
  readonly store: ObjectStore;
  readonly clock: Clock;
}

export function createObjectService({ store, clock }: ObjectDependencies): ObjectService {
  return {
    publish: async ({ expectedDigest, ...draft }, caller) => {
      reachProject(draft.projectId, caller);
      requireExpectedDigest(draft.digest, expectedDigest);
      return await store.create({ ...draft, createdAt: clock.now(), createdBy: caller.owner });
    },
    read: async ({ projectId, kind, name, version }, caller) => {
      reachProject(projectId, caller);
      const found = await store.find(projectId, { kind, name, version: versionNamed(version) });
      if (found === null) throw notFound("object", `${name}:${version}`);
      return found;
    },
    list: async (projectId, filter, slice, caller) => {
      reachProject(projectId, caller);
      return await store.list(projectId, filter, slice);
    },
    delete: async (projectId, name, digests, caller) => {
      reachProject(projectId, caller);
      const count = await store.delete(projectId, name, digests);
      if (count === 0) throw notFound("object", name);
      return count;
    },
  };
}

/**
 * Compares the digest that the server computed with the client's.
 *
 * @param expected digest that the client computed; null if the client computed none
 * @throws ServiceError `conflict` if the digests differ
 */
export function requireExpectedDigest(digest: string, expected: string | null): void {
  if (expected === null || expected === digest) return;
  const message = `expected_digest is ${quoted(expected)}, and what was sent has the digest ${quoted(digest)}. Nothing was stored; send what the digest is of, or leave it out.`;
  const fault = { location: ["expected_digest"], message, type: "conflict" };
  throw new ServiceError({ code: "conflict", faults: [fault] });
}
