// What a pod of the tests does: answers, looks names up, and tries doors. For tests alone.
//
//	probe serve               answers on port 8080 with the name of its host, until it is ended
//	probe get ADDRESS         prints what a server of that kind answers
//	probe lookup NAME         prints the addresses of a name
//	probe connect HOST:PORT   prints open or closed
//	probe tries SECONDS HOST:PORT ...   tries all doors at the same time, again and again for so many seconds, at
//	                                    least once, and prints each with how often it was open and how often not
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const patience = 5 * time.Second

// A door that drops what is sent answers never; one of the same machine answers within milliseconds.
const patienceOfATry = 2 * time.Second

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

func tries(seconds string, doors []string) error {
	limit, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	end := time.Now().Add(time.Duration(limit * float64(time.Second)))
	lines := make([]string, len(doors))
	var all sync.WaitGroup
	for number, door := range doors {
		all.Add(1)
		go func() {
			defer all.Done()
			open, closed := 0, 0
			for first := true; first || time.Now().Before(end); first = false {
				if connection, err := net.DialTimeout("tcp", door, patienceOfATry); err == nil {
					connection.Close()
					open++
				} else {
					closed++
				}
				time.Sleep(50 * time.Millisecond)
			}
			lines[number] = fmt.Sprintf("%s %d %d", door, open, closed)
		}()
	}
	all.Wait()
	fmt.Println(strings.Join(lines, "\n"))
	return nil
}

func main() {
	does := map[string]func(string) error{
		"serve":   func(string) error { return serve() },
		"get":     get,
		"lookup":  lookup,
		"connect": connect,
		"tries":   func(seconds string) error { return tries(seconds, os.Args[3:]) },
	}
	words := append(os.Args[1:], "", "")
	act, known := does[words[0]]
	if !known {
		log.Fatal("serve, get, lookup, connect or tries")
	}
	if err := act(words[1]); err != nil {
		log.Fatal(err)
	}
}
