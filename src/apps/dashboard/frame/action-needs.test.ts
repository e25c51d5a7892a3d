// Tests that the page offers no button that the server would refuse. Each file that sends a request which changes
// something names an action with the scopes of the route, in a call of `may` or as the need of a dialog. Only a file of
// a view that has these scopes itself names no action.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { effectOf, scopesOf } from "../../../api/http/credentials/route-scopes.ts";
import { Hone } from "../../client/hone.ts";
import { type Action, canDo, canOpen, scopes } from "./key-access.ts";

const source = "src/apps/dashboard";

/** Views whose files need not ask, because a key without the scopes cannot open the view. */
const viewsOf: Readonly<Record<string, string>> = {
  "chat/": "chat",
  "views/train.tsx": "train",
  "training/again.ts": "train",
  "training/from-feedback.tsx": "train",
};

test("each file that changes something asks whether the key may do so", async () => {
  const unasked: string[] = [];
  for (const file of filesIn()) {
    const text = readFileSync(join(source, file), "utf8");
    // Safe cast: the code compiles only with names of actions.
    const asked = [...text.matchAll(/\b(?:may\(|needs=)"(\w+)"/g)].map(([, name]) => name as Action);
    const view = Object.entries(viewsOf).find(([start]) => file.startsWith(start))?.[1];
    for (const [call, group = "", method = ""] of text.matchAll(/\bhone\.(\w+)\.(\w+)\(/g)) {
      const route = await routeOf(group, method);
      if (route === null || effectOf(...route) === "read") continue;
      const isAsked = asked.some((action) =>
        scopes.every((scope) => accepts(action, scope) === opens(route, scope)),
      );
      const isInView =
        view !== undefined && scopes.every((scope) => !canOpen(keyOf(scope), view) || opens(route, scope));
      if (!isAsked && !isInView) unasked.push(`${file}: ${call} sends ${route.join(" ")}`);
    }
  }
  assert.deepEqual(unasked, []);
});

function filesIn(): readonly string[] {
  const names = readdirSync(source, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".test.ts"));
}

type Route = readonly [method: string, path: string];

/** Returns the route that a method of the client calls first; null if it sends no request. */
async function routeOf(group: string, method: string): Promise<Route | null> {
  let sent: Route | null = null;
  const hone = new Hone({
    baseUrl: "http://h",
    apiKey: null,
    retries: 0,
    fetch: (url, { method: verb = "GET" }) => {
      sent ??= [verb, new URL(url).pathname];
      // The client repeats no request with this answer.
      return Promise.resolve(new Response("{}", { status: 401 }));
    },
  });
  // Safe cast: the page's code, which compiles, calls this method.
  const groups = hone as unknown as Readonly<
    Record<string, Readonly<Record<string, (...values: unknown[]) => unknown>>>
  >;
  const values = method === "upload" ? [new Blob(), "name"] : ["id", "id", "id"];
  const answer = groups[group]?.[method]?.(...values);
  const isStream = typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
  // Safe cast: checked just before.
  const begun = isStream ? (answer as AsyncIterable<unknown>)[Symbol.asyncIterator]().next() : answer;
  await Promise.resolve(begun).catch(() => undefined);
  return sent;
}

function keyOf(scope: (typeof scopes)[number]) {
  return { role: "member", scopes: [scope], project: null } as const;
}

function accepts(action: Action, scope: (typeof scopes)[number]): boolean {
  return canDo(keyOf(scope), action);
}

function opens(route: Route, scope: (typeof scopes)[number]): boolean {
  return scopesOf(...route)?.scopes.includes(scope) ?? false;
}
