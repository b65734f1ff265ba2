// What a pod of the tests does: answers, looks names up, and tries doors. For tests alone.
//
//	probe serve               answers on port 8080 with the name of its host, until it is ended
//	probe get ADDRESS         prints what a server of that kind answers
//	probe lookup NAME         prints the addresses of a name
//	probe connect HOST:PORT   prints open or closed
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const patience = 5 * time.Second

func serve() error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() { <-ended; os.Exit(0) }()
	answer := func(out http.ResponseWriter, _ *http.Request) { fmt.Fprintln(out, name) }
	return http.ListenAndServe(":8080", http.HandlerFunc(answer))
}

func get(address string) error {
	answer, err := (&http.Client{Timeout: patience}).Get("http://" + address)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

func lookup(name string) error {
	addresses, err := net.LookupHost(name)
	if err == nil {
		fmt.Println(strings.Join(addresses, " "))
	}
	return err
}

func connect(door string) error {
	connection, err := net.DialTimeout("tcp", door, patience)
	if err != nil {
		fmt.Println("closed")
		return nil
	}
	fmt.Println("open")
	return connection.Close()
}

func main() {
	does := map[string]func(string) error{
		"serve":   func(string) error { return serve() },
		"get":     get,
		"lookup":  lookup,
		"connect": connect,
	}
	words := append(os.Args[1:], "", "")
	act, known := does[words[0]]
	if !known {
		log.Fatal("serve, get, lookup or connect")
	}
	if err := act(words[1]); err != nil {
		log.Fatal(err)
	}
}
