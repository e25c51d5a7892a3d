// Knows the methods of each path, so that a wrong method for a known path is answered 405 rather than 404.
import type { FastifyInstance } from "fastify";
import { HttpRefusal } from "./errors.ts";

export class RouteTable {
  readonly #methods = new Map<string, Set<string>>();
  /** Patterns of the paths, made only for the first refusal. */
  #patterns: readonly (readonly [RegExp, ReadonlySet<string>])[] | null = null;

  /** Records every route that is added to the server after this call. */
  watch(app: FastifyInstance): void {
    app.addHook("onRoute", ({ url, method }) => {
      const methods = this.#methods.get(url) ?? new Set();
      this.#methods.set(url, methods);
      for (const name of [method].flat()) methods.add(name);
      this.#patterns = null;
    });
  }

  /** Returns the refusal for a request that no route answered: 404, or 405 with the allowed methods. */
  refusal(method: string, path: string): HttpRefusal {
    const methods = new Set<string>();
    this.#patterns ??= [...this.#methods].map(([url, names]) => [patternOf(url), names] as const);
    for (const [pattern, names] of this.#patterns) {
      if (pattern.test(path)) for (const name of names) methods.add(name);
    }
    // If the path has this method, a route handled the request but found no object, so the status is 404.
    return methods.size === 0 || methods.has(method)
      ? noRoute(path)
      : wrongMethod(method, path, [...methods].sort().join(", "));
  }
}

function patternOf(url: string): RegExp {
  const parts = url
    .split("/")
    .map((part) => (part.startsWith(":") ? "[^/]+" : part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)));
  return new RegExp(`^${parts.join("/").replaceAll("*", ".*")}$`);
}

function noRoute(path: string): HttpRefusal {
  const message = `There is no route ${path.slice(0, 200)}; GET /openapi.json lists those that exist.`;
  return new HttpRefusal({
    status: 404,
    code: "not_found",
    faults: [{ location: ["path"], message, type: "not_found" }],
  });
}

function wrongMethod(method: string, path: string, allowed: string): HttpRefusal {
  const message = `${path.slice(0, 200)} does not support ${method}; it supports ${allowed}.`;
  return new HttpRefusal({
    status: 405,
    code: "invalid",
    faults: [{ location: ["path"], message, type: "method_not_allowed" }],
    headers: { allow: allowed },
  });
}
