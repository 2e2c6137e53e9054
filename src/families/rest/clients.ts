import type { JsHttpClient } from '../../clients/js-http-client.js';
import { JsClients } from '../requests/clients.js';

/** The clients of the side `js`, and the user's own. */
export const REST_CLIENTS = new JsClients<JsHttpClient>('rest', {
  undici: { packageName: 'undici', load: async () => (await import('../../clients/undici.js')).undici },
});
