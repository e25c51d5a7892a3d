// The signed-in session. The key is stored only for this browser tab; a server without authentication needs no key.
import { signal } from "@preact/signals";
import type { OwnKey } from "../client/api.ts";
import { Hone } from "../client/hone.ts";
import { HoneError } from "../client/hone-error.ts";
import { type Action, canDo } from "./frame/key-access.ts";

export interface Session {
  readonly hone: Hone;
  /** Key of the session, as the server describes it. */
  readonly key: OwnKey;
  /** True if the user entered a key, so that the page offers to sign out. */
  readonly hasKey: boolean;
}

const keyName = "hone-key";
/** Set from signing out until the next sign-in. */
const leftName = "hone-signed-out";

/** Current session; null if nobody is signed in; `undefined` until the server has answered. */
export const session = signal<Session | null | undefined>(undefined);

/** True if the session's key may do something; false if nobody is signed in. */
export function may(action: Action): boolean {
  return Boolean(session.value && canDo(session.value.key, action));
}

/**
 * Opens a session with the key stored in this tab, or without a key if the server needs none.
 *
 * @throws HoneError if the server does not answer
 */
export async function resumeSession(): Promise<void> {
  const kept = sessionStorage.getItem(keyName);
  const opened = (await open(kept)) ?? (kept === null ? null : await open(null));
  hasExpired.value = kept !== null && opened === null;
  session.value = opened;
}

/** Returns the name under which the browser stores something for the owner of the key, separately from other owners. */
export function ownName(what: string): string {
  const key = session.value?.key;
  return `${what} ${key?.entity ?? ""}/${key?.owner ?? ""}`;
}

/** @returns true if the server accepts the key */
export async function signIn(key: string): Promise<boolean> {
  const opened = await open(key);
  if (opened === null) return false;
  sessionStorage.setItem(keyName, key);
  sessionStorage.removeItem(leftName);
  hasExpired.value = false;
  session.value = opened;
  return true;
}

/** True after the server has refused the key of a session, until the next sign-in. */
export const hasExpired = signal(false);

/** Ends a session whose key the server no longer accepts. The view stays, for the same user with a valid key. */
export function endSession(): void {
  if (session.value !== null) hasExpired.value = true;
  sessionStorage.removeItem(keyName);
  session.value = null;
}

/**
 * Signs the user out, and loads the page again without the part of the address after `#`. The next user of this tab
 * then sees nothing of this user's work: neither the address, which contains the conversation of a chat, nor drafts, nor
 * what the page holds in memory.
 */
export function signOut(): void {
  endSession();
  sessionStorage.clear();
  sessionStorage.setItem(leftName, "yes");
  location.replace(location.pathname);
}

/** True from signing out until the next sign-in. The browser's history still has addresses of the user's work. */
export function hasSignedOut(): boolean {
  return session.value === null && sessionStorage.getItem(leftName) !== null;
}

/** Returns a session with this key; null if the server rejects the key. */
async function open(key: string | null): Promise<Session | null> {
  const hone = new Hone({ baseUrl: location.origin, apiKey: key });
  try {
    // Any valid key, also one with few scopes, may ask about itself.
    return { hone, key: await hone.server.key(), hasKey: key !== null };
  } catch (error) {
    if (error instanceof HoneError && error.status === 401) return null;
    throw error;
  }
}
