// Who may reach what: entities, their keys, and the store of both. A key is kept as its SHA-256 only.

import { hash } from "node:crypto";
import { ServiceError } from "./service-error.ts";
import type { Page, PageRequest } from "./page.ts";

export type KeyRole = "member" | "admin";

/** A key as it is stored; the secret itself is shown once and never kept. */
export interface AccessKey {
  readonly id: string;
  readonly entity: string;
  readonly role: KeyRole;
  /** A name for people; feedback records carry it as the author. */
  readonly owner: string;
  /** Lower-case hex SHA-256 of the secret. */
  readonly secretHash: string;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

/** The sender of a request, after authentication. */
export interface Caller {
  readonly keyId: string;
  readonly entity: string;
  readonly role: KeyRole;
  readonly owner: string;
}

/** True when the caller may use what belongs to the entity. */
export function mayReach(caller: Caller, entity: string): boolean {
  return caller.role === "admin" || caller.entity === entity;
}

/**
 * @param what names the thing in the message
 * @param field the domain's name of the field that named it, where one did
 * @throws ServiceError `forbidden` when what belongs to the entity is not the caller's
 */
export function refuseOtherEntity(caller: Caller, entity: string, what: string, field?: string): void {
  if (mayReach(caller, entity)) return;
  const message = `${what} belongs to another entity than your key.`;
  const faults = field === undefined ? [] : [{ location: [field], message, type: "forbidden" }];
  throw new ServiceError({ code: "forbidden", message, faults });
}

export interface KeyStore {
  create(key: AccessKey): Promise<void>;
  /** The live key with this hash, or null. */
  findByHash(secretHash: string): Promise<AccessKey | null>;
  /** Those of the ids whose keys are revoked, in any order. */
  findRevoked(ids: readonly string[]): Promise<readonly string[]>;
  /** In the order they came, revoked ones included. */
  list(page: PageRequest): Promise<Page<AccessKey>>;
  /** Returns false when there is no such live key. */
  revoke(id: string, at: Date): Promise<boolean>;
}

/** What is kept of a key's secret, and what a presented one is compared by: its SHA-256 in lower-case hex. */
export function hashSecret(secret: string): string {
  return hash("sha256", secret);
}
