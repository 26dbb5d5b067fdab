//! The schemas of the two databases are the same: tables, columns, keys, indexes, references and checks.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{Executor as _, PgPool, Row as _, SqlitePool, postgres::PgRow, sqlite::SqliteRow};
use store::testing::Postgres;

/// A schema as lines of text, by table.
type Schema = BTreeMap<String, BTreeSet<String>>;

async fn of_sqlite(pool: &SqlitePool) -> Schema {
    let mut schema = Schema::new();
    let rows = pool
        .fetch_all("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        .await
        .unwrap();
    for row in rows {
        let (table, sql): (String, String) = (row.get("name"), row.get("sql"));
        let lines = schema.entry(table.clone()).or_default();
        let query = |what: &str| sqlx::AssertSqlSafe(format!("PRAGMA {what}"));
        let text = |row: &SqliteRow, column: &str| {
            row.get::<Option<String>, _>(column).unwrap_or_default()
        };
        let mut key = BTreeMap::new();
        for row in pool
            .fetch_all(query(&format!("table_info({table})")))
            .await
            .unwrap()
        {
            let kind = match text(&row, "type").as_str() {
                "INTEGER" | "BIGINT" => "bigint",
                "BLOB" => "bytea",
                "TEXT" => "text",
                other => panic!("{other}"),
            };
            let part: i64 = row.get("pk");
            // A primary key is never null, but SQLite does not report this.
            let empty = if row.get::<i64, _>("notnull") == 0 && part == 0 {
                ""
            } else {
                " not null"
            };
            let default = text(&row, "dflt_value");
            lines.insert(format!(
                "column {} {kind}{empty} {default}",
                text(&row, "name")
            ));
            key.insert(part, text(&row, "name"));
        }
        key.remove(&0);
        lines.insert(format!(
            "key {}",
            key.into_values().collect::<Vec<_>>().join(", ")
        ));
        for row in pool
            .fetch_all(query(&format!("foreign_key_list({table})")))
            .await
            .unwrap()
        {
            let (from, to, parent) = (text(&row, "from"), text(&row, "to"), text(&row, "table"));
            lines.insert(format!(
                "reference {from} {parent} {to} {}",
                text(&row, "on_delete")
            ));
        }
        for row in pool
            .fetch_all(query(&format!("index_list({table})")))
            .await
            .unwrap()
        {
            let name = text(&row, "name");
            if name.starts_with("sqlite_autoindex") {
                continue;
            }
            let columns = pool
                .fetch_all(query(&format!("index_info({name})")))
                .await
                .unwrap();
            let columns: Vec<String> = columns.iter().map(|row| text(row, "name")).collect();
            let sql: String = sqlx::query_scalar("SELECT sql FROM sqlite_master WHERE name = $1")
                .bind(&name)
                .fetch_one(pool)
                .await
                .unwrap();
            let filter = sql.split_once(" WHERE ").map_or("", |(_, filter)| filter);
            let unique: i64 = row.get("unique");
            lines.insert(index(&name, unique == 1, &columns, filter));
        }
        lines.extend(checks(&sql));
    }
    schema
}

async fn of_postgres(pool: &PgPool) -> Schema {
    let mut schema = Schema::new();
    let text = |row: &PgRow, column: &str| row.get::<Option<String>, _>(column).unwrap_or_default();
    let columns = pool
        .fetch_all(
            "SELECT table_name::text AS t, column_name::text AS c, data_type::text AS kind, is_nullable::text AS empty, \
             column_default::text AS def, collation_name::text AS collation FROM information_schema.columns \
             WHERE table_schema = 'public' AND table_name NOT LIKE '\\_%'",
        )
        .await
        .unwrap();
    for row in columns {
        let empty = if text(&row, "empty") == "YES" {
            ""
        } else {
            " not null"
        };
        let (default, kind) = (text(&row, "def"), text(&row, "kind"));
        let default = default.trim_end_matches("::text");
        if kind == "text" {
            assert_eq!(
                text(&row, "collation"),
                "C",
                "{} of {}",
                text(&row, "c"),
                text(&row, "t")
            );
        }
        let line = format!("column {} {kind}{empty} {default}", text(&row, "c"));
        schema.entry(text(&row, "t")).or_default().insert(line);
    }
    let constraints = pool
        .fetch_all(
            "SELECT conrelid::regclass::text AS t, contype::text AS kind, pg_get_constraintdef(oid) AS def FROM pg_constraint \
             WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text NOT LIKE '\\_%'",
        )
        .await
        .unwrap();
    for row in constraints {
        let lines = schema.get_mut(&text(&row, "t")).unwrap();
        let def = text(&row, "def");
        match text(&row, "kind").as_str() {
            "p" => {
                let columns = def
                    .trim_start_matches("PRIMARY KEY (")
                    .trim_end_matches(')');
                lines.insert(format!("key {columns}"));
            }
            "f" => {
                // FOREIGN KEY (run) REFERENCES runs(id) ON DELETE CASCADE
                let words: Vec<&str> = def
                    .split([' ', '(', ')'])
                    .filter(|word| !word.is_empty())
                    .collect();
                let action = words.get(6..).unwrap_or_default().join(" ");
                let action = action.trim_start_matches("ON DELETE ");
                let action = if action.is_empty() {
                    "NO ACTION"
                } else {
                    action
                };
                lines.insert(format!(
                    "reference {} {} {} {action}",
                    words[2], words[4], words[5]
                ));
            }
            "c" => lines.extend(checks(&def)),
            other => panic!("{other}: {def}"),
        }
    }
    let indexes = pool
        .fetch_all(
            "SELECT indrelid::regclass::text AS t, indexrelid::regclass::text AS name, indisunique AS only, \
             pg_get_indexdef(indexrelid) AS def FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid \
             WHERE relnamespace = 'public'::regnamespace AND NOT indisprimary AND indrelid::regclass::text NOT LIKE '\\_%'",
        )
        .await
        .unwrap();
    for row in indexes {
        let def = text(&row, "def");
        let (_, columns) = def.split_once(" USING btree (").unwrap();
        let (columns, rest) = columns.split_once(')').unwrap();
        // PostgreSQL quotes columns that are named like a keyword: `time`.
        let columns = columns.split(", ").map(|column| column.replace('"', ""));
        let columns: Vec<String> = columns.collect();
        let filter = rest.split_once(" WHERE ").map_or("", |(_, filter)| filter);
        let line = index(&text(&row, "name"), row.get("only"), &columns, filter);
        schema.get_mut(&text(&row, "t")).unwrap().insert(line);
    }
    schema
}

fn index(name: &str, is_unique: bool, columns: &[String], filter: &str) -> String {
    let unique = if is_unique { "unique " } else { "" };
    format!(
        "{unique}index {name} ({}) {:?}",
        columns.join(", "),
        quoted(filter)
    )
}

/// Words that PostgreSQL prints in another form: `x IN ('a')` as `x = ANY (ARRAY['a'::text])`, `BETWEEN` as two comparisons.
const FORM: [&str; 9] = [
    "ALL", "AND", "ANY", "ARRAY", "BETWEEN", "IN", "NOT", "bigint", "text",
];

/// PostgreSQL prints checks in another form, so only the columns, functions, numbers and texts in them are compared.
fn checks(sql: &str) -> BTreeSet<String> {
    let mut rest = sql;
    let mut found = BTreeSet::new();
    while let Some((_, after)) = rest.split_once("CHECK (") {
        let mut depth = 1;
        let end = after.find(|letter| {
            depth += match letter {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            depth == 0
        });
        let (check, after) = after.split_at(end.unwrap());
        let words = check.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let words = words.filter(|word| !word.is_empty() && !FORM.contains(word));
        found.insert(format!("check {:?}", words.collect::<BTreeSet<_>>()));
        rest = after;
    }
    found
}

fn quoted(sql: &str) -> BTreeSet<&str> {
    sql.split('\'').skip(1).step_by(2).collect()
}

#[tokio::test]
async fn both_databases_have_the_same_schema() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.db");
    store::open(&file).await.unwrap().store().close().await;
    let sqlite = SqlitePool::connect(file.to_str().unwrap()).await.unwrap();

    let server = Postgres::start();
    let url = server.create().await;
    store::connect(&url).await.unwrap().store().close().await;
    let postgres = PgPool::connect(&server.address("test_0")).await.unwrap();

    let (sqlite, postgres) = (of_sqlite(&sqlite).await, of_postgres(&postgres).await);
    assert_eq!(
        sqlite.keys().collect::<Vec<_>>(),
        postgres.keys().collect::<Vec<_>>()
    );
    assert!(
        sqlite.len() > 10 && sqlite["runs"].len() > 20,
        "{sqlite:#?}"
    );
    for (table, lines) in &sqlite {
        assert_eq!(lines, &postgres[table], "{table}");
    }
}
