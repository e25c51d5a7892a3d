// For tests: `fetch` without a network, to a server over fakes, whose answers must be as documented.
import type { fakeServer } from "../../../api/http/testing/fake-server.ts";

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

/** What a made-up server answers to a body, by method and path; `*` in a path stands for one part of it. */
type Routes = Readonly<Record<string, (body: never, parts: readonly string[]) => unknown>>;

/** `fetch` to a server that is made up; a list is answered as events. */
export function routedFetch(routes: Routes): Fetch {
  const patterns = Object.entries(routes).map(([route, answer]) => {
    const pattern = new RegExp(`^${route.replaceAll("*", "([^/]+)")}$`);
    // Each route is given the body that its calls send.
    return { pattern, answer: answer as (body: unknown, parts: readonly string[]) => unknown };
  });
  return async (url, { method = "", body }) => {
    const route = `${method} ${new URL(url).pathname}`;
    const found = patterns.find(({ pattern }) => pattern.test(route));
    if (found === undefined) throw new Error(`the made-up server has no ${route}`);
    const parts = found.pattern.exec(route)?.slice(1) ?? [];
    const answer = found.answer(typeof body === "string" ? JSON.parse(body) : undefined, parts);
    if (!Array.isArray(answer)) return new Response(JSON.stringify(answer));
    return new Response([...answer.map((event) => JSON.stringify(event)), "[DONE]"].map(dataLine).join(""));
  };
}

function dataLine(data: string): string {
  return `data: ${data}\n\n`;
}

/** The routes of jobs that succeed as soon as they are there, beside those that create them. */
export const succeedingJobs: Routes = {
  "GET /v1/preview/training-jobs/*/events": () => [{ id: "e", type: "training_ended", data: {} }],
  "GET /v1/preview/training-jobs/*": (_, [id]) => ({ id, state: "succeeded" }),
};
