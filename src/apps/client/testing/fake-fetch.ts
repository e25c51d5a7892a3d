// For tests: a `fetch` without a network. It either calls a server with in-memory stores and checks the answers against
// the API document, or returns scripted answers.
import type { fakeServer } from "../../../api/http/testing/fake-server.ts";

type Fetch = (url: string, request: RequestInit) => Promise<Response>;

/**
 * Returns a `fetch` to the server.
 *
 * @param onRequest called with the method and path of every request
 */
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
      method: asked.method,
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

/**
 * Returns a `fetch` that gives these answers in order, and then repeats the last one. It throws answers that are
 * errors.
 */
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

/** Answers of a fake server by method and path; `*` matches one segment of a path. */
type Routes = Readonly<Record<string, (body: never, parts: readonly string[]) => unknown>>;

/** Returns a `fetch` to a fake server. An answer that is an array is sent as a stream of events. */
export function routedFetch(routes: Routes): Fetch {
  const patterns = Object.entries(routes).map(([route, answer]) => {
    const pattern = new RegExp(`^${route.replaceAll("*", "([^/]+)")}$`);
    // Safe cast: calls send each route the body that it expects.
    return { pattern, answer: answer as (body: unknown, parts: readonly string[]) => unknown };
  });
  return async (url, { method = "", body }) => {
    const route = `${method} ${new URL(url).pathname}`;
    const found = patterns.find(({ pattern }) => pattern.test(route));
    if (found === undefined) throw new Error(`the fake server has no ${route}`);
    const parts = found.pattern.exec(route)?.slice(1) ?? [];
    const answer = found.answer(typeof body === "string" ? JSON.parse(body) : undefined, parts);
    if (!Array.isArray(answer)) return new Response(JSON.stringify(answer));
    return new Response([...answer.map((event) => JSON.stringify(event)), "[DONE]"].map(dataLine).join(""));
  };
}

function dataLine(data: string): string {
  return `data: ${data}\n\n`;
}

/** Routes for jobs that succeed immediately. Tests add a route that creates the jobs. */
export const succeedingJobs: Routes = {
  "GET /v1/preview/training-jobs/*/events": () => [{ id: "e", type: "training_ended", data: {} }],
  "GET /v1/preview/training-jobs/*": (_, [id]) => ({ id, state: "succeeded" }),
};
