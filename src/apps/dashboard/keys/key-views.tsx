// Card that names the views that a limited key does not open; nothing if the key opens all of them.
import type { OwnKey } from "../../client/api.ts";
import { closedTitles } from "../frame/key-access.ts";

export function KeyViews({ ownKey }: { readonly ownKey: OwnKey }) {
  const closed = closedTitles(ownKey);
  if (closed.length === 0) return null;
  return (
    <section class="card" aria-labelledby="views">
      <h2 id="views">Views of your key</h2>
      <p>
        Your key opens the views in the navigation. {closed.join(", ")}{" "}
        {closed.length === 1 ? "needs" : "need"} other scopes or another role; an administrator can create
        such a key.
      </p>
    </section>
  );
}
