// For tests: `fetch` without a network, to a server over fakes, whose answers must be as documented.
import type { fakeServer } from "../../http/testing/fake-server.ts";

type Fetch = (url: string, request: RequestInit) => Promise<Response>;

/** @param onRequest told of every request by its method and path */
export function fetchFrom(
  { ask }: Pick<Awaited<ReturnType<typeof fakeServer>>, "ask">,
  onRequest: (method: string, path: string) => void = () => undefined,
): Fetch {
  return async (url, request) => {
    const { pathname, search } = new URL(url);
    const asked = new Request(url, request);
    const payload = Buffer.from(await asked.arrayBuffer());
    onRequest(asked.method, pathname);
    const answer = await ask({
      // Of the methods that the client sends.
      method: asked.method as "GET" | "POST" | "PUT" | "DELETE",
      url: pathname + search,
      headers: Object.fromEntries(asked.headers),
      ...(payload.length === 0 ? {} : { payload }),
    });
    const headers = Object.entries(answer.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    return new Response(new Uint8Array(answer.rawPayload), { status: answer.statusCode, headers });
  };
}

/** `fetch` that answers from a list, the last answer again and again; an error is thrown. */
export function scriptedFetch(...answers: readonly (Response | Error | (() => Response))[]): Fetch & {
  readonly requests: { readonly url: string; readonly request: RequestInit }[];
} {
  const requests: { readonly url: string; readonly request: RequestInit }[] = [];
  const answer: Fetch = async (url, request) => {
    const next = answers[Math.min(requests.length, answers.length - 1)];
    requests.push({ url, request });
    if (next instanceof Error) throw next;
    return typeof next === "function" ? next() : next;
  };
  return Object.assign(answer, { requests });
}
