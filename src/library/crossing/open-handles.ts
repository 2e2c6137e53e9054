/** Work that a connection must end when it closes. */
export interface OpenHandle {
  /** Ends the work under way. Must not throw. */
  close(): void | Promise<void>;
}

/** The open handles of one owner. Weak, so handles that their users have dropped are not kept alive. */
export class OpenHandles {
  /** The owner's name in error messages. */
  readonly owner: string;
  readonly #references = new Set<WeakRef<OpenHandle>>();
  readonly #byHandle = new WeakMap<OpenHandle, WeakRef<OpenHandle>>();
  readonly #registry = new FinalizationRegistry<WeakRef<OpenHandle>>((reference) => {
    this.#references.delete(reference);
  });

  constructor(owner: string) {
    this.owner = owner;
  }

  get size(): number {
    return this.#references.size;
  }

  add(handle: OpenHandle): void {
    const reference = new WeakRef(handle);
    this.#references.add(reference);
    this.#byHandle.set(handle, reference);
    this.#registry.register(handle, reference, reference);
  }

  delete(handle: OpenHandle): void {
    const reference = this.#byHandle.get(handle);
    if (reference === undefined) return;
    this.#references.delete(reference);
    this.#registry.unregister(reference);
  }

  /** Closes all handles. Resolves when all have ended. */
  async closeAll(): Promise<void> {
    const handles = [...this.#references].flatMap((reference) => reference.deref() ?? []);
    this.#references.clear();
    await Promise.allSettled(handles.map((handle) => handle.close()));
  }
}
