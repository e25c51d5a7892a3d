// Who is signed in: the key is kept for this tab alone, and goes with it. Where the server asks for none, there is none.
import { signal } from "@preact/signals";
import { Hone } from "../client/hone.ts";
import { HoneError } from "../client/hone-error.ts";

export interface Session {
  readonly hone: Hone;
  /** Whether a key was needed, which can be forgotten. */
  readonly hasKey: boolean;
}

const keyName = "hone-key";

/** Null before anybody is signed in; `undefined` before that is known. */
export const session = signal<Session | null | undefined>(undefined);

/** Goes on with the key of this tab, or without one where none is asked for. @throws HoneError where nobody answers */
export async function resumeSession(): Promise<void> {
  const kept = sessionStorage.getItem(keyName);
  session.value = (await open(kept)) ?? (kept === null ? null : await open(null));
}

/** @returns whether the key is one of this server's */
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

/** Null where the server does not take the key. */
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
