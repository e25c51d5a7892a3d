// Whether a Hone answers at an address, and how it is.
import { HoneError } from "../../client/hone-error.ts";
import { Hone } from "../../client/hone.ts";
import type { SeenServer } from "../../server/doctor/address.ts";

/** How long an address may take to answer, in milliseconds. */
const timeout = 2000;

interface HealthBody {
  readonly state?: unknown;
  readonly reason?: unknown;
}

/** What answers there; null where nobody does, or another program. */
export async function findServer(url: string): Promise<SeenServer | null> {
  const { server } = new Hone({ baseUrl: url, apiKey: null, timeout, retries: 0 });
  try {
    const version: unknown = await server.version();
    const { state, reason }: HealthBody = await server.health().catch(bodyOfUnwell);
    // Other programs have such routes as well.
    if (typeof version !== "string" || typeof state !== "string") return null;
    return { version, state, reason: typeof reason === "string" ? reason : "" };
  } catch {
    return null;
  }
}

/** A server that is not well answers with an error that has the same body. */
function bodyOfUnwell(error: unknown): HealthBody {
  if (error instanceof HoneError && typeof error.body === "object" && error.body !== null) return error.body;
  throw error;
}
