import type { JsSqlClient } from '../../clients/js-sql-client.js';
import { JsClients } from '../requests/clients.js';

/** The other clients of the MySQL protocol, by their names in the matrix. */
export const SQL_CLIENTS = new JsClients<JsSqlClient>('sql', {
  mysql2: { packageName: 'mysql2', load: async () => (await import('../../clients/mysql2.js')).mysql2 },
  mariadb: { packageName: 'mariadb', load: async () => (await import('../../clients/mariadb.js')).mariadb },
});
