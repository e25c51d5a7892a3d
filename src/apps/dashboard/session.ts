// The signed-in session. The key is stored only for this tab; a server without authentication needs none.
import { signal } from "@preact/signals";
import { Hone } from "../client/hone.ts";
import { HoneError } from "../client/hone-error.ts";

export interface Session {
  readonly hone: Hone;
  /** True if a key was needed, which sign-out removes. */
  readonly hasKey: boolean;
}

const keyName = "hone-key";

/** Null if nobody is signed in; `undefined` while that is unknown. */
export const session = signal<Session | null | undefined>(undefined);

/** Resumes with this tab's key, or without one if none is needed. @throws HoneError if the server does not answer */
export async function resumeSession(): Promise<void> {
  const kept = sessionStorage.getItem(keyName);
  session.value = (await open(kept)) ?? (kept === null ? null : await open(null));
}

/** @returns true if the server accepts the key */
export async function signIn(key: string): Promise<boolean> {
  const opened = await open(key);
  if (opened === null) return false;
  sessionStorage.setItem(keyName, key);
  session.value = opened;
  return true;
}

export function signOut(): void {
  sessionStorage.removeItem(keyName);
  session.value = null;
}

/** Null if the server rejects the key. */
async function open(key: string | null): Promise<Session | null> {
  const hone = new Hone({ baseUrl: location.origin, apiKey: key });
  try {
    await hone.models.list({ limit: 1 }).first();
  } catch (error) {
    if (error instanceof HoneError && error.status === 401) return null;
    throw error;
  }
  return { hone, hasKey: key !== null };
}
