// A view whose code the browser loads when the view first opens.
import { type ComponentType, createElement } from "preact";
import { Skeleton } from "./skeleton.tsx";
import { useLoaded } from "../use-loaded.ts";

/**
 * Returns a component whose code loads when it is first shown.
 *
 * @param load imports the module and returns the component; if it fails, the page asks the user to reload, because a
 * newer server has other files
 */
export function lazyView<Properties extends object>(
  load: () => Promise<ComponentType<Properties>>,
): ComponentType<Properties> {
  let loaded: ComponentType<Properties> | null = null;
  return function LazyView(properties: Properties) {
    const { failure } = useLoaded(async () => (loaded ??= await load()), []);
    if (loaded !== null) return createElement(loaded, properties);
    return failure === null ? (
      <Skeleton />
    ) : (
      <p class="failure" role="alert">
        This view cannot be loaded, because the server does not answer or has been updated. Reload the page.
      </p>
    );
  };
}
