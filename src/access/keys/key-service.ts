// Administers API keys: creates, finds, lists, changes, rotates and revokes them. Both HTTP routes and commands that
// open a data folder use this service. Its callers check permissions.
import {
  type AccessKey,
  type KeyChoices,
  type KeyFilter,
  type KeyRole,
  type KeyStore,
  graceSecondsMax,
  hashSecret,
  keyTextMax,
} from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid } from "../../base/domain/random.ts";
import { keyScopes } from "../../base/domain/keys/key-scope.ts";
import type { Page, PageRequest } from "../../base/domain/page.ts";
import { notFound, quoted, ServiceError } from "../../base/domain/service-error.ts";
import { isStorable } from "../../base/domain/text/storable.ts";
import { isPlainPart } from "../../inference/models/registry/model-name.ts";
import { requireValidLimits } from "./limits/check-limits.ts";
import { isOfStart, keyOf, newSecret } from "./key-secret.ts";

export interface NewKey {
  readonly key: AccessKey;
  /** Secret of the key, returned only once; the database stores only its hash. */
  readonly secret: string;
}

export interface KeyRequest extends KeyChoices {
  readonly entity: string;
  readonly role: KeyRole;
  /** User to whom the key belongs; null if it belongs to the entity as a whole. */
  readonly owner: string | null;
}

export interface KeyService {
  /**
   * Creates a key.
   *
   * @throws ServiceError `invalid`, with the faulty fields of the request as locations
   */
  create(request: KeyRequest): Promise<NewKey>;
  /**
   * Finds a key by its id, even if the key is revoked.
   *
   * @throws ServiceError `not_found`
   */
  find(id: string): Promise<AccessKey>;
  /** Lists keys in creation order, including revoked ones. */
  list(page: PageRequest, filter: KeyFilter): Promise<Page<AccessKey>>;
  /**
   * Changes the given fields of a key. Requests that arrive later use the new values.
   *
   * @throws ServiceError `not_found` if no such key exists or it is revoked; `invalid`, with the faulty fields as
   * locations
   */
  change(id: string, choices: Partial<KeyChoices>): Promise<AccessKey>;
  /**
   * Gives a key a new secret. The current secret stays valid for `graceSeconds`, but not beyond the key's expiry; any
   * older secret becomes invalid.
   *
   * @throws ServiceError `not_found` if no such key exists or it is revoked; `invalid` for an invalid `graceSeconds`;
   * `conflict` for a key that the server created when it started
   */
  rotate(id: string, graceSeconds: number): Promise<NewKey>;
  /**
   * Revokes a key. The server refuses later requests with the key, and ends its running requests and jobs.
   *
   * @throws ServiceError `not_found` if no such key exists or it is already revoked
   */
  revoke(id: string): Promise<AccessKey>;
}

export function createKeyService({
  keys,
  clock,
}: {
  readonly keys: KeyStore;
  readonly clock: Clock;
}): KeyService {
  const live = async (id: string): Promise<AccessKey> => {
    const key = await keys.find(id);
    if (key === null || key.revokedAt !== null) throw notFound("live key", id);
    return key;
  };
  return {
    create: async ({ owner: given, ...request }) => {
      const owner = given ?? request.entity;
      const secret = newSecret();
      const about = checkedChoices(request, request.role, clock.now());
      const key = keyOf(secret, { ...about, id: newUuid(), owner }, clock);
      refuseText("owner", owner);
      await keys.create(key);
      return { key, secret };
    },
    find: async (id) => {
      const key = await keys.find(id);
      if (key === null) throw notFound("key", id);
      return key;
    },
    list: (page, filter) => keys.list(page, filter),
    change: async (id, choices) => {
      const { role } = await live(id);
      const changed = await keys.change(id, checkedChoices(choices, role, clock.now()));
      if (changed === null) throw notFound("live key", id);
      return changed;
    },
    rotate: async (id, graceSeconds) => {
      if (!(Number.isInteger(graceSeconds) && graceSeconds >= 0 && graceSeconds <= graceSecondsMax))
        throw invalid(
          "graceSeconds",
          `\`graceSeconds\` is ${graceSeconds}; it must be a whole number from 0 to ${graceSecondsMax}, which is 90 days.`,
        );
      await live(id);
      if (isOfStart(id)) throw ofStart();
      const secret = newSecret();
      const until = new Date(clock.now().getTime() + graceSeconds * 1000);
      const key = await keys.rotate(id, hashSecret(secret), until);
      if (key === null) throw notFound("live key", id);
      return { key, secret };
    },
    revoke: async (id) => {
      const key = await live(id);
      const revokedAt = clock.now();
      if (!(await keys.revoke(id, revokedAt))) throw notFound("live key", id);
      return { ...key, revokedAt };
    },
  };
}

/**
 * Validates the given fields and returns them, with scopes deduplicated and in canonical order.
 *
 * @throws ServiceError `invalid`
 */
function checkedChoices<Choices extends Partial<KeyChoices>>(
  choices: Choices,
  role: KeyRole,
  now: Date,
): Choices {
  const { name = null, expiresAt = null, scopes = null, project = null } = choices;
  if (name !== null) refuseText("name", name);
  requireValidLimits(choices);
  if (expiresAt !== null && Number.isNaN(expiresAt.getTime()))
    throw invalid("expiresAt", "`expiresAt` is not a valid date and time.");
  if (expiresAt !== null && expiresAt <= now)
    throw invalid(
      "expiresAt",
      `\`expiresAt\` is ${expiresAt.toISOString()}, and it is ${now.toISOString()} now; name a later time, or revoke the key.`,
    );
  if (scopes?.length === 0)
    throw invalid(
      "scopes",
      `\`scopes\` is empty, which opens nothing; name at least one of ${keyScopes.join(", ")}.`,
    );
  if (project !== null && role === "admin")
    throw invalid(
      "project",
      "`project` is given for an admin's key, which reaches everything; make it a member's, or leave it out.",
    );
  if (project !== null && !(isPlainPart(project) && project.length <= keyTextMax))
    throw invalid(
      "project",
      `\`project\` is ${quoted(project)}; it is the project's name without its entity, of 1 to ${keyTextMax} characters, none of them a blank, "/" or ":".`,
    );
  return scopes === null
    ? choices
    : { ...choices, scopes: keyScopes.filter((scope) => scopes.includes(scope)) };
}

function refuseText(field: "name" | "owner", text: string): void {
  if (text.trim() !== "" && text.length <= keyTextMax && isStorable(text)) return;
  throw invalid(
    field,
    `\`${field}\` is ${quoted(text)}; it must be a text of 1 to ${keyTextMax} characters.`,
  );
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError({
    code: "invalid",
    message,
    faults: [{ location: [field], message, type: "value_error" }],
  });
}

function ofStart(): ServiceError {
  return new ServiceError({
    code: "conflict",
    message:
      "The server made this key when it started. Give HONE_API_KEY another value and restart the server, or make another admin key and revoke this one.",
  });
}
