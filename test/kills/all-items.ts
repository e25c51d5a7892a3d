// Reads a list of the API page by page.
import { call, type RunningServer } from "../running-server.ts";

/** @throws Error if a page is refused */
export async function allItems(server: RunningServer, path: string): Promise<any[]> {
  const items: any[] = [];
  for (;;) {
    const after = items.length === 0 ? "" : `&after=${items.at(-1).id}`;
    const { status, body } = await call(server, "GET", `${path}?limit=100${after}`);
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
    items.push(...body.data);
    if (!body.has_more) return items;
  }
}
